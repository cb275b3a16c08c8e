/*
 * Assembles a kernel from text, runs it on the emulator and tells how it went. For tests of the
 * execution core.
 *
 * The kernel gets one pointer, out, already in s[2:3] when the text begins; v0 is the work-item, v5
 * four times that (its byte offset in out). 64 registers, 1 KiB of LDS; a0 is row 32.
 */
#ifndef TEST_EXEC_ASM_H
#define TEST_EXEC_ASM_H

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#include <hip/hip_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

enum { ASM_WORDS = 1024 }; /* of out; it starts with word i = i */

const char *emu_last_fault(void);
const char *emu_last_text(void);

struct asm_result {
    bool ran;
    uint32_t out[ASM_WORDS];
    char fault[2048]; /* the emulator's report, "" when it ran */
};

/* A processor's name may be followed by further options of the assembler. */
static const char *const asm_gpus[] = {"gfx90a", "gfx942", "gfx1100", "gfx1151", "gfx950"};

static inline bool asm_is_wide(const char *gpu)
{
    return strncmp(gpu, "gfx9", 4) == 0;
}

static inline const char *asm_tool(const char *variable, const char *standard)
{
    const char *v = getenv(variable);

    return v && *v ? v : standard;
}

static inline void asm_write(FILE *f, const char *gpu, const void *body)
{
    bool wide = asm_is_wide(gpu), wave64 = wide || strstr(gpu, "wavefrontsize64");

    fprintf(f,
            ".text\n.globl k\n.p2align 8\n.type k,@function\nk:\n"
            "s_load_dwordx2 s[2:3], s[0:1], 0x0\nv_lshlrev_b32 v5, 2, v0\n"
            "s_waitcnt lgkmcnt(0)\n%s\ns_endpgm\n.Lend:\n.size k, .Lend-k\n",
            (const char *)body);
    fprintf(f,
            ".rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
            ".amdhsa_group_segment_fixed_size 1024\n.amdhsa_next_free_vgpr 64\n"
            ".amdhsa_next_free_sgpr 64\n.amdhsa_float_denorm_mode_32 3\n%s.end_amdhsa_kernel\n",
            wide     ? ".amdhsa_accum_offset 32\n"
            : wave64 ? ".amdhsa_wavefront_size32 0\n"
                     : ".amdhsa_wavefront_size32 1\n");
    fprintf(f,
            ".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:\n"
            "  - .name: k\n    .symbol: k.kd\n    .kernarg_segment_size: 8\n"
            "    .kernarg_segment_align: 8\n    .group_segment_fixed_size: 1024\n"
            "    .private_segment_fixed_size: 0\n    .wavefront_size: %d\n    .sgpr_count: 64\n"
            "    .vgpr_count: 64\n    .max_flat_workgroup_size: 1024\n    .args:\n"
            "      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}\n"
            "...\n.end_amdgpu_metadata\n",
            wave64 ? 64 : 32);
}

/* Can the assembler make code for gfx950? */
static inline bool asm_knows_gfx950(void)
{
    char command[512];

    snprintf(command, sizeof command,
             "echo s_endpgm | %s -x assembler --target=amdgcn-amd-amdhsa -mcpu=gfx950 -c -o "
             "/dev/null - >/dev/null 2>&1",
             asm_tool("DEVICE_CLANG", "clang-22"));
    return system(command) == 0;
}

/* Skips the whole test when the assembler or the linker is missing. */
static inline void asm_need_tools(void)
{
    char command[512];

    snprintf(command, sizeof command,
             "%s --version >/dev/null 2>&1 && %s --version >/dev/null 2>&1",
             asm_tool("LLVM_MC", "llvm-mc-19"), asm_tool("LD_LLD", "ld.lld-19"));
    if (system(command))
        tap_skip_all("llvm-mc or ld.lld (version 19) is missing");
}

/* The code object of a whole source, which `write` prints; the caller frees it. NULL when the
 * tools fail. */
static inline char *asm_assemble(const char *gpu, const void *what,
                                 void (*write)(FILE *f, const char *gpu, const void *what))
{
    char dir[] = "/tmp/test_exec_XXXXXX", path[64], command[512], *image = NULL;
    FILE *f;
    long n;

    if (!mkdtemp(dir))
        return NULL;
    snprintf(path, sizeof path, "%s/k.s", dir);
    f = fopen(path, "w");
    if (f) {
        write(f, gpu, what);
        fclose(f);
        if (strcmp(gpu, "gfx950") == 0) /* unknown to llvm-mc 19 */
            snprintf(command, sizeof command,
                     "cd %s && %s -x assembler --target=amdgcn-amd-amdhsa -mcpu=gfx950 -g -c k.s "
                     "-o k.o && %s -shared k.o -o k.co",
                     dir, asm_tool("DEVICE_CLANG", "clang-22"), asm_tool("LD_LLD", "ld.lld-19"));
        else
            snprintf(
                command, sizeof command,
                "cd %s && %s -triple=amdgcn-amd-amdhsa -mcpu=%s -g -filetype=obj k.s -o k.o && "
                "%s -shared k.o -o k.co",
                dir, asm_tool("LLVM_MC", "llvm-mc-19"), gpu, asm_tool("LD_LLD", "ld.lld-19"));
        snprintf(path, sizeof path, "%s/k.co", dir);
        f = system(command) == 0 ? fopen(path, "rb") : NULL;
    }
    if (f) {
        fseek(f, 0, SEEK_END);
        n = ftell(f);
        rewind(f);
        image = n > 0 ? malloc((size_t)n) : NULL;
        if (image && fread(image, 1, (size_t)n, f) != (size_t)n) {
            free(image);
            image = NULL;
        }
        fclose(f);
    }
    snprintf(command, sizeof command, "rm -rf %s", dir);
    if (system(command) != 0)
        tap_diag("cannot remove %s", dir);
    return image;
}

static inline char *asm_build(const char *gpu, const char *body)
{
    return asm_assemble(gpu, body, asm_write);
}

static inline unsigned asm_device(const char *gpu)
{
    for (unsigned i = 0; i < sizeof asm_gpus / sizeof *asm_gpus; i++)
        if (strncmp(asm_gpus[i], gpu, strlen(asm_gpus[i])) == 0)
            return i;
    return 0;
}

/* Runs body with one workgroup of `items`; a device fault becomes res->fault. */
static inline bool asm_run(const char *gpu, const char *body, unsigned items,
                           struct asm_result *res)
{
    char *image = asm_build(gpu, body);
    uint32_t words[ASM_WORDS];
    hipModule_t module;
    hipFunction_t kernel;
    void *out = NULL, *args[] = {&out};

    memset(res, 0, sizeof *res);
    if (!image)
        return false;
    for (unsigned i = 0; i < ASM_WORDS; i++)
        words[i] = i;
    if (hipSetDevice((int)asm_device(gpu)) || hipModuleLoadData(&module, image) ||
        hipModuleGetFunction(&kernel, module, "k") || hipMalloc(&out, sizeof words) ||
        hipMemcpy(out, words, sizeof words, hipMemcpyHostToDevice)) {
        tap_diag("cannot load the kernel for %s", gpu);
        free(image);
        return false;
    }
    res->ran = !hipModuleLaunchKernel(kernel, 1, 1, 1, items, 1, 1, 0, NULL, args, NULL) &&
               !hipDeviceSynchronize();
    if (!res->ran)
        snprintf(res->fault, sizeof res->fault, "%s", emu_last_fault());
    if (hipMemcpy(res->out, out, sizeof words, hipMemcpyDeviceToHost) && res->ran)
        res->ran = false;
    (void)hipFree(out);
    (void)hipModuleUnload(module);
    free(image);
    return true;
}

#endif
