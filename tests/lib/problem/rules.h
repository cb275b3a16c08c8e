/* Rules for the arguments of aothip_attn_fwd(): what spoils a sound problem, and what is said of it. */
#ifndef AOTHIP_TEST_RULES_H
#define AOTHIP_TEST_RULES_H

#include "fake_problem.h"
#include "tap.h"
#include "validate.h"

typedef struct aothip_attn_fwd_params params;

/* Changes a sound problem; what the message must contain, NULL if it stays sound. */
struct rule {
    const char *what;
    void (*change)(params *p);
    const char *message;
};

#define RULE(name, ...)                                                                            \
    static void name(params *p)                                                                    \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }

static inline void *at(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* Of a verdict: that it is what the rule says. */
static inline void check_rule(const char *what, const char *message, const struct status *why)
{
    if (!message) {
        ok(why->code == AOTHIP_OK, "%s: accepted %s", what, why->code ? why->text : "");
        return;
    }
    ok(why->code == AOTHIP_E_ARGUMENT, "%s: refused", what);
    contains(why->text, message, "and named");
}

static inline void check_rules(const struct rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        params p = problem_make();
        struct validate_fwd checked;
        struct status why;
        status_clear(&why);
        rules[i].change(&p);
        validate_attn_fwd(&p, &checked, &why);
        check_rule(rules[i].what, rules[i].message, &why);
    }
}

#endif
