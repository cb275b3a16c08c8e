/* GPU target IDs such as "gfx942:sramecc+:xnack-", and whether code made for one runs on another.
 */
#ifndef AOTHIP_TARGET_H
#define AOTHIP_TARGET_H

#include <stddef.h>
#include <stdint.h>

enum target_setting { TARGET_ANY = 0, TARGET_OFF, TARGET_ON };

struct target {
    char gpu[16]; /* "gfx942" */
    enum target_setting sramecc, xnack;
};

/* Reads `length` bytes of a target ID. Returns 0, or -1 if they are none. */
int target_parse(const char *text, size_t length, struct target *target);

/*
 * Whether code for target `code` runs on `device`: the same GPU, and each feature that the code
 * states has that value on the device. A feature that the code leaves open fits any device.
 */
int target_fits(const struct target *code, const struct target *device);

/* Writes "gfx942:sramecc+:xnack-", which always fits into TARGET_TEXT_MAX bytes; returns `text`. */
enum { TARGET_TEXT_MAX = 48 };
const char *target_print(const struct target *target, char text[TARGET_TEXT_MAX]);

/* How many features are stated: among targets that fit, the one with most is the closest. */
int target_features(const struct target *target);

/* EF_AMDGPU_MACH of a GPU that target.def knows; 0: it does not. */
enum { TARGET_MACH_MASK = 0xff };
uint32_t target_mach(const char *gpu);

/* Which floats of 8 bits the GPU's matrix instructions take. */
enum target_fp8 { TARGET_FP8_UNKNOWN, TARGET_FP8_NONE, TARGET_FP8_OCP, TARGET_FP8_FNUZ };
enum target_fp8 target_fp8(const char *gpu);

/*
 * Which heads of a large launch go together (gen/kernel/deal.h): those of a sequence, in runs or as
 * a whole, or, with a causal mask, those of all sequences.
 */
enum target_deal { TARGET_DEAL_WHOLE, TARGET_DEAL_RUNS, TARGET_DEAL_ALL };
enum target_deal target_deal(const char *gpu); /* WHOLE of an unknown one */

/*
 * Whether e_flags of an AMDGPU ELF of code object version 4 or later are those of `code`: the
 * processor number, if target.def knows the GPU, and the two features.
 */
int target_matches_elf_flags(const struct target *code, uint32_t e_flags);

#endif
