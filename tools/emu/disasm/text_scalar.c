/*
 * Prints the operands of scalar instructions: messages, hardware registers, counters, scalar
 * memory.
 */
#include "disasm_parts.h"

#include <string.h>

static bool is(const struct emu_insn *in, const char *name)
{
    return strcmp(emu_rows[in->row].name, name) == 0;
}

/* ---- counters ---- */

static void print_waitcnt(struct emu_text *t, const struct emu_insn *in)
{
    unsigned x = (uint16_t)in->simm16, vm, exp, lgkm, lgkm_max;
    bool all, any = false;

    if (emu_is_gfx11(in)) {
        vm = x >> 10, exp = x & 7, lgkm = x >> 4 & 63, lgkm_max = 63;
    } else {
        vm = (x & 15) | (x >> 14) << 4, exp = x >> 4 & 7, lgkm = x >> 8 & 15, lgkm_max = 15;
    }
    all = vm == 63 && exp == 7 && lgkm == lgkm_max;
    if (all || vm != 63)
        emu_text_add(t, " vmcnt(%u)", vm), any = true;
    if (all || exp != 7)
        emu_text_add(t, " expcnt(%u)", exp), any = true;
    if (all || lgkm != lgkm_max)
        emu_text_add(t, " lgkmcnt(%u)", lgkm), any = true;
    (void)any;
}

static void print_depctr(struct emu_text *t, unsigned x)
{
    static const struct {
        const char *name;
        uint8_t shift, max;
    } fields[] = {{"hold_cnt", 7, 1}, {"sa_sdst", 0, 1}, {"va_vdst", 12, 15}, {"va_sdst", 9, 7},
                  {"va_ssrc", 8, 1},  {"va_vcc", 1, 1},  {"vm_vsrc", 2, 7}};
    unsigned n = sizeof fields / sizeof fields[0];
    bool all = x == 0xff9f; /* nothing to wait for: all fields are printed */

    if (x & 0x60) { /* bits of no field: no symbolic form */
        emu_text_add(t, " 0x%x", x);
        return;
    }
    for (unsigned i = 0; i < n; i++)
        if (all || (x >> fields[i].shift & fields[i].max) != fields[i].max)
            emu_text_add(t, " depctr_%s(%u)", fields[i].name, x >> fields[i].shift & fields[i].max);
}

static void print_delay_id(struct emu_text *t, const char *what, unsigned id, bool bar)
{
    static const char *const names[] = {"",
                                        "VALU_DEP_1",
                                        "VALU_DEP_2",
                                        "VALU_DEP_3",
                                        "VALU_DEP_4",
                                        "TRANS32_DEP_1",
                                        "TRANS32_DEP_2",
                                        "TRANS32_DEP_3",
                                        "FMA_ACCUM_CYCLE_1",
                                        "SALU_CYCLE_1",
                                        "SALU_CYCLE_2",
                                        "SALU_CYCLE_3"};

    emu_text_add(t, "%s%s(%s)", bar ? " | " : " ", what, id < 12 ? names[id] : "");
}

static void print_delay_alu(struct emu_text *t, unsigned x)
{
    static const char *const skips[] = {"", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"};
    unsigned id0 = x & 15, skip = x >> 4 & 7, id1 = x >> 7 & 15;
    bool any = false;

    if (id0)
        print_delay_id(t, "instid0", id0, false), any = true;
    if (skip)
        emu_text_add(t, "%sinstskip(%s)", any ? " | " : " ", skip < 6 ? skips[skip] : ""),
            any = true;
    if (id1)
        print_delay_id(t, "instid1", id1, any), any = true;
    if (!any)
        emu_text_add(t, " 0");
}

/* ---- messages and hardware registers ---- */

struct name {
    uint8_t number;
    const char *text;
};

static const char *find_name(const struct name *names, unsigned n, unsigned number)
{
    for (unsigned i = 0; i < n; i++)
        if (names[i].number == number)
            return names[i].text;
    return NULL;
}

static const struct name messages9[] = {{1, "INTERRUPT"},       {2, "GS"},
                                        {3, "GS_DONE"},         {4, "SAVEWAVE"},
                                        {5, "STALL_WAVE_GEN"},  {6, "HALT_WAVES"},
                                        {7, "ORDERED_PS_DONE"}, {8, "EARLY_PRIM_DEALLOC"},
                                        {9, "GS_ALLOC_REQ"},    {10, "GET_DOORBELL"},
                                        {15, "SYSMSG"}};
static const struct name messages11[] = {
    {1, "INTERRUPT"},          {2, "HS_TESSFACTOR"},   {3, "DEALLOC_VGPRS"},
    {5, "STALL_WAVE_GEN"},     {6, "HALT_WAVES"},      {9, "GS_ALLOC_REQ"},
    {128, "RTN_GET_DOORBELL"}, {129, "RTN_GET_DDID"},  {130, "RTN_GET_TMA"},
    {131, "RTN_GET_REALTIME"}, {132, "RTN_SAVE_WAVE"}, {133, "RTN_GET_TBA"},
    {134, "RTN_GET_TBA_TO_PC"}};

static void print_message11(struct emu_text *t, const struct emu_insn *in, unsigned x)
{
    unsigned id = x & 0xff;
    const char *name = find_name(messages11, sizeof messages11 / sizeof messages11[0], id);

    if (emu_is_gfx12(in)) /* it lost two and has one more */
        name = id == 5 || id == 6 ? NULL : id == 135 ? "RTN_GET_SE_AID_ID" : name;
    if (name)
        emu_text_add(t, "sendmsg(MSG_%s)", name);
    else if (x > 0xff)
        emu_text_add(t, "%u", x);
    else
        emu_text_add(t, "sendmsg(%u, 0, 0)", id);
}

static void print_message9(struct emu_text *t, unsigned x)
{
    static const char *const gs[] = {"NOP", "CUT", "EMIT", "EMIT_CUT"};
    static const char *const sys[] = {NULL, "ECC_ERR_INTERRUPT", "REG_RD", NULL, "TTRACE_PC"};
    unsigned id = x & 15, op = x >> 4 & 7, stream = x >> 8 & 3;
    const char *name = find_name(messages9, sizeof messages9 / sizeof messages9[0], id);

    if ((id == 2 || id == 3) && op < 4 && (op || (id == 3 && !stream))) {
        emu_text_add(t, "sendmsg(MSG_%s, GS_OP_%s", name, gs[op]);
        if (op)
            emu_text_add(t, ", %u", stream);
        emu_text_add(t, ")");
    } else if (id == 15 && op < 5 && sys[op] && !stream) {
        emu_text_add(t, "sendmsg(MSG_SYSMSG, SYSMSG_OP_%s)", sys[op]);
    } else if (name && id != 2 && id != 3 && id != 15 && !op && !stream) {
        emu_text_add(t, "sendmsg(MSG_%s)", name);
    } else if (x & ~0x37fu) {
        emu_text_add(t, "%u", x);
    } else {
        emu_text_add(t, "sendmsg(%u, %u, %u)", id, op, stream);
    }
}

static void print_message(struct emu_text *t, const struct emu_insn *in)
{
    unsigned x = (uint16_t)in->simm16;

    if (emu_is_gfx11(in))
        print_message11(t, in, x);
    else
        print_message9(t, x);
}

static const struct name hwregs[] = {{1, "MODE"},         {2, "STATUS"},    {3, "TRAPSTS"},
                                     {5, "GPR_ALLOC"},    {6, "LDS_ALLOC"}, {7, "IB_STS"},
                                     {15, "SH_MEM_BASES"}};
static const struct name hwregs12[] = {{1, "WAVE_MODE"},
                                       {2, "WAVE_STATUS"},
                                       {4, "WAVE_STATE_PRIV"},
                                       {5, "WAVE_GPR_ALLOC"},
                                       {6, "WAVE_LDS_ALLOC"},
                                       {7, "IB_STS"},
                                       {10, "PERF_SNAPSHOT_DATA"},
                                       {11, "PERF_SNAPSHOT_PC_LO"},
                                       {12, "PERF_SNAPSHOT_PC_HI"},
                                       {15, "PERF_SNAPSHOT_DATA1"},
                                       {16, "PERF_SNAPSHOT_DATA2"},
                                       {17, "WAVE_EXCP_FLAG_PRIV"},
                                       {18, "WAVE_EXCP_FLAG_USER"},
                                       {19, "WAVE_TRAP_CTRL"},
                                       {20, "WAVE_SCRATCH_BASE_LO"},
                                       {21, "WAVE_SCRATCH_BASE_HI"},
                                       {23, "WAVE_HW_ID1"},
                                       {24, "WAVE_HW_ID2"},
                                       {26, "WAVE_SCHED_MODE"},
                                       {29, "SHADER_CYCLES_LO"},
                                       {30, "SHADER_CYCLES_HI"},
                                       {31, "WAVE_DVGPR_ALLOC_LO"},
                                       {32, "WAVE_DVGPR_ALLOC_HI"}};
static const struct name hwregs9[] = {
    {4, "HW_ID"}, {16, "TBA_LO"}, {17, "TBA_HI"}, {18, "TMA_LO"}, {19, "TMA_HI"}};
static const struct name hwregs942[] = {{20, "XCC_ID"},
                                        {21, "SQ_PERF_SNAPSHOT_DATA"},
                                        {22, "SQ_PERF_SNAPSHOT_DATA1"},
                                        {23, "SQ_PERF_SNAPSHOT_PC_LO"},
                                        {24, "SQ_PERF_SNAPSHOT_PC_HI"}};
static const struct name hwregs11[] = {{18, "PERF_SNAPSHOT_PC_LO"},
                                       {19, "PERF_SNAPSHOT_PC_HI"},
                                       {20, "FLAT_SCR_LO"},
                                       {21, "FLAT_SCR_HI"},
                                       {23, "HW_ID1"},
                                       {24, "HW_ID2"},
                                       {27, "PERF_SNAPSHOT_DATA"},
                                       {29, "SHADER_CYCLES"}};

static const char *hwreg_name(const struct emu_insn *in, unsigned id)
{
    const char *name;

    if (emu_is_gfx12(in))
        return find_name(hwregs12, sizeof hwregs12 / sizeof hwregs12[0], id);
    name = find_name(hwregs, 7, id);
    if (!name && !emu_is_gfx11(in))
        name = find_name(hwregs9, 5, id);
    if (!name && emu_is_gfx94(in->family))
        name = find_name(hwregs942, 5, id);
    if (!name && emu_is_gfx11(in))
        name = find_name(hwregs11, 8, id);
    return name;
}

static void print_hwreg(struct emu_text *t, const struct emu_insn *in)
{
    unsigned x = (uint16_t)in->simm16, id = x & 63, offset = x >> 6 & 31, width = (x >> 11) + 1;
    const char *name = hwreg_name(in, id);

    if (name)
        emu_text_add(t, "hwreg(HW_REG_%s", name);
    else
        emu_text_add(t, "hwreg(%u", id);
    if (offset || width != 32)
        emu_text_add(t, ", %u, %u", offset, width);
    emu_text_add(t, ")");
}

/* ---- encodings ---- */

/* Like an inline constant where it could be one. */
static void print_imm(struct emu_text *t, unsigned x)
{
    emu_text_add(t, x <= 64 ? "%u" : "0x%x", x);
}

static void print_gpr_idx(struct emu_text *t, unsigned x)
{
    static const char *const names[] = {"SRC0", "SRC1", "SRC2", "DST"};
    bool any = false;

    if (x > 15) {
        emu_text_add(t, "0x%x", x);
        return;
    }
    emu_text_add(t, "gpr_idx(");
    for (unsigned i = 0; i < 4; i++)
        if (x >> i & 1) {
            emu_text_add(t, "%s%s", any ? "," : "", names[i]);
            any = true;
        }
    emu_text_add(t, ")");
}

static void print_sopp(struct emu_text *t, const struct emu_insn *in)
{
    static const char *const hex[] = {"s_clause",         "s_set_inst_prefetch_distance",
                                      "s_singleuse_vdst", "s_round_mode",
                                      "s_wait_event",     "s_ttracedata_imm"};
    unsigned x = (uint16_t)in->simm16;

    if (!emu_row_sig(in->row)->nsrc)
        return;
    if (is(in, "s_waitcnt")) {
        print_waitcnt(t, in);
        return;
    }
    if (is(in, "s_waitcnt_depctr") || is(in, "s_wait_alu")) {
        print_depctr(t, x);
        return;
    }
    if (is(in, "s_delay_alu")) {
        print_delay_alu(t, x);
        return;
    }
    if (is(in, "s_endpgm")) {
        if (x)
            emu_text_add(t, " %u", x);
        return;
    }
    emu_text_add(t, " ");
    if (is(in, "s_sendmsg") || is(in, "s_sendmsghalt")) {
        print_message(t, in);
        return;
    }
    if (is(in, "s_set_gpr_idx_mode")) {
        print_gpr_idx(t, x);
        return;
    }
    for (unsigned i = 0; i < sizeof hex / sizeof hex[0]; i++)
        if (is(in, hex[i]) || (strstr(emu_rows[in->row].name, "cnt") && emu_is_gfx12(in))) {
            emu_text_add(t, "0x%x", x);
            return;
        }
    if (in->flags & EMU_F_BRANCH)
        emu_text_add(t, "%u", x);
    else
        print_imm(t, x);
}

/* A generation and three flags, joined as the assembler's expressions are. */
static void print_version(struct emu_text *t, unsigned x)
{
    static const struct name gens[] = {{0, "GFX7"}, {4, "GFX10"}, {6, "GFX11"}, {9, "GFX12"}};
    static const char *const flags[] = {"W64_BIT", "W32_BIT", "MDP_BIT"};
    const char *gen = find_name(gens, 4, x & 0xff);
    unsigned set = x >> 13, n = (set & 1) + (set >> 1 & 1) + (set >> 2);

    if (x & 0x1f00) {
        emu_text_add(t, "0x%x", x);
        return;
    }
    for (unsigned i = 1; i < n; i++)
        emu_text_add(t, "(");
    if (gen)
        emu_text_add(t, "UC_VERSION_%s", gen);
    else
        emu_text_add(t, "%u", x & 0xff);
    for (unsigned i = 0; i < 3; i++)
        if (set >> i & 1)
            emu_text_add(t, "|UC_VERSION_%s%s", flags[i], --n ? ")" : "");
}

static void print_sopk(struct emu_text *t, const struct emu_insn *in)
{
    unsigned x = (uint16_t)in->simm16;

    emu_text_add(t, " ");
    if (is(in, "s_version")) {
        print_version(t, x);
        return;
    }
    if (!strncmp(emu_rows[in->row].name, "s_setreg", 8)) {
        print_hwreg(t, in);
        emu_text_add(t, ", ");
        emu_print_operand(t, in, &in->src[0]);
        return;
    }
    if (in->ndst || in->nsrc) {
        emu_print_operand(t, in, in->ndst ? &in->dst[0] : &in->src[0]);
        emu_text_add(t, ", ");
    }
    if (is(in, "s_getreg_b32"))
        print_hwreg(t, in);
    else if (in->flags & EMU_F_BRANCH)
        emu_text_add(t, "%u", x);
    else
        emu_text_add(t, "0x%x", x);
}

static void print_smem_offset(struct emu_text *t, const struct emu_insn *in)
{
    emu_text_add(t, "%s0x%x", in->offset < 0 ? "-" : "",
                 (unsigned)(in->offset < 0 ? -in->offset : in->offset));
}

static void print_smem12(struct emu_text *t, const struct emu_insn *in)
{
    const char *name = emu_rows[in->row].name;
    bool prefetch = strstr(name, "prefetch");

    emu_text_add(t, " ");
    if (in->ndst) {
        emu_print_operand(t, in, &in->dst[0]);
        emu_text_add(t, ", ");
    } else if (!prefetch) { /* s_atc_probe */
        print_imm(t, (uint16_t)in->simm16);
        emu_text_add(t, ", ");
    }
    if (in->src[0].kind != EMU_OPK_NONE) {
        emu_print_operand(t, in, &in->src[0]);
        emu_text_add(t, ", ");
    }
    if (in->src[1].kind == EMU_OPK_NONE || prefetch)
        print_smem_offset(t, in);
    if (prefetch)
        emu_text_add(t, ", ");
    if (in->src[1].kind != EMU_OPK_NONE)
        emu_print_operand(t, in, &in->src[1]);
    if (in->src[1].kind != EMU_OPK_NONE && !prefetch) {
        emu_text_add(t, " offset:");
        print_smem_offset(t, in);
    }
    if (prefetch) {
        emu_text_add(t, ", ");
        print_imm(t, (uint16_t)in->simm16);
    }
    emu_print_policy(t, in);
}

static void print_smem(struct emu_text *t, const struct emu_insn *in)
{
    const struct emu_sig *sig = emu_row_sig(in->row);
    bool any = false;

    if (!strncmp(emu_rows[in->row].name, "s_atc_probe", 11)) {
        emu_text_add(t, " ");
        print_imm(t, in->word[0] >> 6 & 0x7f);
        any = true;
    }
    if (in->ndst || in->nsrc > 2) {
        emu_text_add(t, " ");
        emu_print_operand(t, in, in->ndst ? &in->dst[0] : &in->src[2]);
        any = true;
    }
    if (sig->nsrc) {
        emu_text_add(t, any ? ", " : " ");
        emu_print_operand(t, in, &in->src[0]);
        if (in->src[1].kind != EMU_OPK_NONE) {
            emu_text_add(t, ", ");
            emu_print_operand(t, in, &in->src[1]);
            if (in->mem & EMU_M_IMM)
                emu_text_add(t, " offset:%s0x%x", in->offset < 0 ? "-" : "",
                             (unsigned)(in->offset < 0 ? -in->offset : in->offset));
        } else if (emu_is_gfx11(in) && !in->offset) {
            emu_text_add(t, ", null");
        } else {
            emu_text_add(t, ", %s0x%x", in->offset < 0 ? "-" : "",
                         (unsigned)(in->offset < 0 ? -in->offset : in->offset));
        }
    }
    if (in->mem & EMU_M_GLC)
        emu_text_add(t, " glc");
    if (in->mem & EMU_M_DLC)
        emu_text_add(t, " dlc");
}

static void print_sop(struct emu_text *t, const struct emu_insn *in)
{
    bool first = true;

    for (unsigned i = 0; i < in->ndst + in->nsrc + 0u; i++) {
        const struct emu_operand *o = i < in->ndst ? &in->dst[i] : &in->src[i - in->ndst];

        if (o->flags & EMU_OPF_IMPLICIT)
            continue;
        emu_text_add(t, first ? " " : ", ");
        if (i >= in->ndst && emu_row_sig(in->row)->src[i - in->ndst].kind == EMU_SLOT_K)
            emu_print_k(t, in);
        else
            emu_print_operand(t, in, o);
        first = false;
    }
    if (!strncmp(emu_rows[in->row].name, "s_sendmsg_rtn", 13)) {
        emu_text_add(t, ", ");
        print_message11(t, in, in->word[0] & 0xff);
    }
    if (is(in, "s_set_gpr_idx_on")) {
        emu_text_add(t, ", ");
        print_gpr_idx(t, (uint16_t)in->simm16);
    }
}

void emu_print_scalar(struct emu_text *t, const struct emu_insn *in)
{
    if (in->enc == EMU_SOPP)
        print_sopp(t, in);
    else if (in->enc == EMU_SOPK)
        print_sopk(t, in);
    else if (in->enc == EMU_SMEM && emu_is_gfx12(in) && (in->nsrc || in->ndst))
        print_smem12(t, in);
    else if (in->enc == EMU_SMEM)
        print_smem(t, in);
    else
        print_sop(t, in);
}
