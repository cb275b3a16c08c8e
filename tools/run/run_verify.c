/* The results of aothip-run beside the reference in double precision. */
#include "run_job.h"

#include <stdio.h>

static int print_verdict(const char *name, const struct ref_verdict *v)
{
    printf("%-5s error %.1e, allowed %.1e  %s\n", name, v->error, v->allowed,
           v->wrong ? "FAIL" : "OK");
    return v->wrong ? -1 : 0;
}

int run_verify_fwd(const struct aothip_attn_fwd_params *p, const char *target)
{
    struct ref_verdict o, lse;
    struct ref_fwd answer;

    if (ref_attn_fwd(p, ref_subnormals_of(target), &answer)) {
        cli_say("no memory for the reference");
        return -1;
    }
    o = ref_judge_o(&answer, &p->o);
    lse = ref_judge_lse(&answer, p->lse);
    ref_free(&answer);
    return print_verdict("o", &o) | print_verdict("lse", &lse);
}

int run_verify_bwd(const struct aothip_attn_bwd_params *b, const char *target)
{
    static const char *const names[] = {"dq", "dk", "dv", "dbias"};
    const struct aothip_tensor *const tensors[] = {&b->dq, &b->dk, &b->dv, &b->dbias};
    struct ref_bwd answer;
    const struct ref_grad *const grads[] = {&answer.dq, &answer.dk, &answer.dv, &answer.dbias};
    int failed = 0, i;

    if (ref_attn_bwd(b, ref_subnormals_of(target), &answer)) {
        cli_say("no memory for the reference");
        return -1;
    }
    for (i = 0; i < RUN_GRADS; i++)
        if (grads[i]->value) {
            struct ref_verdict v = ref_judge_grad(grads[i], tensors[i]);
            failed |= print_verdict(names[i], &v);
        }
    ref_free_bwd(&answer);
    return failed;
}
