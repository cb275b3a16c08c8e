/* Sound problems at made-up addresses, and each option by itself. */
#include "fake_problem.h"

static void *at(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

struct aothip_tensor problem_tensor(uint64_t address, int64_t batch, int64_t heads, int64_t seq,
                                    int64_t dim)
{
    return (struct aothip_tensor){
        at(address), {batch, heads, seq, dim}, {heads * seq * dim, seq * dim, dim, 1}, AOTHIP_F16};
}

struct aothip_attn_fwd_params problem_make(void)
{
    struct aothip_attn_fwd_params p = {.struct_size = sizeof(p)};
    p.q = problem_tensor(0x10000000, 2, 8, 100, 64);
    p.k = problem_tensor(0x20000000, 2, 2, 300, 64);
    p.v = problem_tensor(0x30000000, 2, 2, 300, 64);
    p.o = problem_tensor(0x40000000, 2, 8, 100, 64);
    p.lse = at(0x50000000);
    p.scale = 0.125f;
    return p;
}

void problem_pack(struct aothip_attn_fwd_params *p)
{
    struct aothip_tensor *all[] = {&p->q, &p->k, &p->v, &p->o};
    for (int i = 0; i < 4; i++)
        all[i]->size[0] = 1;
    p->sequences = 3;
    p->q_seqs = (struct aothip_seqs){.packed = 1, .cumulative = at(0x60000000), .max = 40};
    p->k_seqs = (struct aothip_seqs){.packed = 1, .cumulative = at(0x60001000), .max = 120};
}

void problem_page(struct aothip_attn_fwd_params *p)
{
    p->k = problem_tensor(0x20000000, 32, 2, 64, 64);
    p->v = problem_tensor(0x30000000, 32, 2, 64, 64);
    p->block_table = at(0x61000000);
    p->block_table_stride = p->block_table_columns = 5;
    p->k_seqs.lengths = at(0x61001000);
}

void problem_add_bias(struct aothip_attn_fwd_params *p)
{
    p->bias = problem_tensor(0x70000000, 2, 8, 100, 300);
}

void problem_add_keep(struct aothip_attn_fwd_params *p)
{
    p->keep = problem_tensor(0x78000000, 1, 1, 100, 300);
    p->keep.dtype = AOTHIP_BOOL;
}

void problem_drop(struct aothip_attn_fwd_params *p)
{
    p->dropout_p = 0.25f;
    p->dropout_seed_pointer = at(0x62000000);
}

void problem_add_probs(struct aothip_attn_fwd_params *p)
{
    p->probs = problem_tensor(0x80000000, 2, 8, 100, 300);
}

void problem_append(struct aothip_attn_fwd_params *p)
{
    p->k_new = problem_tensor(0x90000000, 2, 2, 4, 64);
    p->v_new = problem_tensor(0x91000000, 2, 2, 4, 64);
    p->k_seqs.lengths = at(0x61001000);
}

void problem_rotate(struct aothip_attn_fwd_params *p)
{
    problem_append(p);
    p->rotary_cos = at(0x63000000);
    p->rotary_sin = at(0x64000000);
    p->rotary_stride = 32;
    p->rotary_dim = 64;
    p->rotary_rows = 512;
    p->workspace = at(0xa0000000);
    p->workspace_size = 1 << 24;
}

void problem_decode(struct aothip_attn_fwd_params *p)
{
    p->q = problem_tensor(0x10000000, 2, 8, 1, 64);
    p->k = problem_tensor(0x20000000, 2, 2, 8192, 64);
    p->v = problem_tensor(0x30000000, 2, 2, 8192, 64);
    p->o = problem_tensor(0x40000000, 2, 8, 1, 64);
}

void problem_gradients(struct problem_gradients *g)
{
    *g = (struct problem_gradients){.fwd = problem_make(), .b = {.struct_size = sizeof(g->b)}};
    g->b.fwd = &g->fwd;
    g->b.d_o = problem_tensor(0xb0000000, 2, 8, 100, 64);
    g->b.dq = problem_tensor(0xb1000000, 2, 8, 100, 64);
    g->b.dk = problem_tensor(0xb2000000, 2, 2, 300, 64);
    g->b.dv = problem_tensor(0xb3000000, 2, 2, 300, 64);
    g->b.delta = at(0xb4000000);
}

static struct aothip_tensor lse_tensor(uint64_t address)
{
    struct aothip_tensor t = problem_tensor(address, 2, 8, 100, 1);
    t.dtype = AOTHIP_F32;
    return t;
}

struct aothip_attn_merge_params problem_merge(void)
{
    return (struct aothip_attn_merge_params){
        .struct_size = sizeof(struct aothip_attn_merge_params),
        .o = problem_tensor(0x40000000, 2, 8, 100, 64),
        .lse = lse_tensor(0x50000000),
        .part_o = problem_tensor(0xc0000000, 2, 8, 100, 64),
        .part_lse = lse_tensor(0xc1000000),
    };
}
