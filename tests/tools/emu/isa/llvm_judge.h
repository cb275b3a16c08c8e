/*
 * LLVM as the judge of what words say: version 19, and 22 of GPUs that 19 does not know. Both are
 * loaded at run time.
 */
#ifndef AOTHIP_TEST_LLVM_JUDGE_H
#define AOTHIP_TEST_LLVM_JUDGE_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef void *disasm_create(const char *triple, const char *cpu, const char *features, void *info,
                            int tag, void *get_op, void *look_up);
typedef size_t disasm_run(void *dc, uint8_t *bytes, uint64_t size, uint64_t pc, char *out,
                          size_t out_size);

/* LLVM 19, and 22 for GPUs that 19 does not know. */
static struct llvm {
    unsigned release;
    const char *files[4];
    disasm_create *create;
    disasm_run *run;
} llvms[] = {
    {19,
     {"libLLVM-19.so", "libLLVM.so.19.1", "libLLVM-19.so.1", "/usr/lib/llvm-19/lib/libLLVM-19.so"},
     NULL,
     NULL},
    {22,
     {"libLLVM-22.so", "libLLVM.so.22.1", "libLLVM-22.so.1", "/usr/lib/llvm-22/lib/libLLVM-22.so"},
     NULL,
     NULL},
};

static bool load_llvm(struct llvm *l)
{
    static const char *const init[] = {"LLVMInitializeAMDGPUTargetInfo",
                                       "LLVMInitializeAMDGPUTargetMC",
                                       "LLVMInitializeAMDGPUDisassembler"};
    void *lib = NULL;

    for (unsigned i = 0; !lib && i < 4; i++)
        lib = dlopen(l->files[i], RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return false;
    for (unsigned i = 0; i < 3; i++) {
        void (*f)(void);

        *(void **)&f = dlsym(lib, init[i]);
        if (!f)
            return false;
        f();
    }
    *(void **)&l->create = dlsym(lib, "LLVMCreateDisasmCPUFeatures");
    *(void **)&l->run = dlsym(lib, "LLVMDisasmInstruction");
    return l->create && l->run;
}

/* LLVM's text without its comments on operands and with single blanks. */
static void normalise(char *s)
{
    char *out = s, *in = s;

    while (*in == '\t' || *in == ' ')
        in++;
    while (*in) {
        char *end = in[0] == '/' && in[1] == '*' ? strstr(in, "*/") : NULL;

        if (end) {
            in = end + 2;
            continue;
        }
        if (*in == '\t')
            *in = ' ';
        if (!(*in == ' ' && out > s && out[-1] == ' '))
            *out++ = *in;
        in++;
    }
    while (out > s && out[-1] == ' ')
        out--;
    *out = 0;
}

/* Disassemblers of one run; those of gfx942, by LLVM 19 and LLVM 22, are made when they are needed.
 */
struct judges {
    bool newer; /* LLVM 22 judges */
    bool gfx12;
    void *dc, *base[2];
};

static void *make_judge(unsigned release, const char *cpu, const char *features)
{
    return llvms[release].create("amdgcn-amd-amdhsa", cpu, features, NULL, 0, NULL, NULL);
}

/*
 * LLVM 22 prints operands that the instruction cannot have, mostly with a comment that says so:
 * registers beyond v255, gfx1250's src_flat_scratch_base, and for gfx9 the literals
 * that VOP3 has had since gfx10. That is no verdict.
 */
static bool doubtful;

static bool is_doubtful(const char *text)
{
    const char *s = text;

    if (strstr(text, "/*Invalid") || strstr(text, "/* Invalid") ||
        strstr(text, "src_flat_scratch_base") ||
        strstr(text, ", vcc|") || strstr(text, ", vcc_lo|")) /* abs of v_cndmask */
        return true;
    while ((s = strchr(s, '[')) != NULL) { /* v[253:256] */
        char *end;

        strtoul(++s, &end, 10);
        if (*end == ':' && strtoul(end + 1, NULL, 10) > 255)
            return true;
    }
    return false;
}

/* Of gfx12 words, too, LLVM 22 prints bits that only gfx1250 has. */
static void take_out(char *text, const char *what)
{
    char *s = strstr(text, what);

    if (s)
        memmove(s, s + strlen(what), strlen(s + strlen(what)) + 1);
}

static size_t ask(unsigned release, void *dc, uint8_t *bytes, unsigned dwords, char text[512])
{
    size_t n = llvms[release].run(dc, bytes, 4 * dwords, 0, text, 512);
    char *c;

    doubtful = n && is_doubtful(text);
    if (!n) {
        text[0] = 0;
        return 0;
    }
    c = strstr(text, " ; ");
    if (c)
        *c = 0;
    normalise(text);
    return n;
}

/*
 * LLVM 22 takes a literal that has its place in the instruction, or what DPP does, for the code of
 * an inline constant when it could be one (0x81 becomes 1), and prints the code of a constant
 * beside DPP.
 */
static bool mixes_up_constants(const uint8_t *bytes, unsigned dwords)
{
    uint32_t w[4] = {0};

    memcpy(w, bytes, 4 * (size_t)dwords);
    for (unsigned i = 1; i < dwords; i++) {
        uint32_t fields[] = {w[i], w[i] >> 8, w[i] >> 8 & 0x1ff, w[i] >> 9 & 0x1ff};

        for (unsigned k = 0; k < 4; k++)
            if (fields[k] >= 128 && fields[k] <= 248)
                return true;
    }
    return false;
}

/*
 * Of gfx12 LLVM 19 knows all instructions, too. It judges where LLVM 22 says of an operand that the
 * instruction cannot have it, and words that LLVM 22 alone takes for an instruction. Nobody does
 * where LLVM 22 may print it wrongly and LLVM 19 refuses it, or has halves where 22 has none.
 */
static size_t judge12(struct judges *j, uint8_t *bytes, unsigned dwords, size_t n, char text[512])
{
    char older[512] = "";
    bool doubt = doubtful || mixes_up_constants(bytes, dwords);
    size_t m = ask(0, j->base[0], bytes, dwords, older);

    if (!n || (!doubt && m))
        return n;
    doubtful |= doubt && (!m || (strstr(older, " op_sel:") && !strstr(text, " op_sel:")));
    strcpy(text, older);
    return m;
}

/*
 * LLVM 22 takes many words for instructions that LLVM 19 refuses. So where it does not say what we
 * say, but makes no difference between gfx950 and gfx942, what LLVM 19 says of gfx942 counts for
 * both.
 */
static size_t judge(struct judges *j, uint8_t *bytes, unsigned dwords, const char *ours,
                    char text[512])
{
    size_t n = ask(j->newer, j->dc, bytes, dwords, text);
    char base[512] = "";
    bool differs, doubt = doubtful;

    if (j->gfx12) {
        take_out(text, " scale_offset");
        take_out(text, " nv");
    }
    if (!j->newer || !strcmp(text, ours)) {
        doubtful = false;
        return n;
    }
    if (j->gfx12)
        return judge12(j, bytes, dwords, n, text);
    doubt |= n == 12;
    for (unsigned i = 0; i < 2; i++)
        if (!j->base[i] && !(j->base[i] = make_judge(i, "gfx942", "")))
            return n;
    differs = ask(1, j->base[1], bytes, dwords, base) != n || strcmp(base, text) != 0;
    doubtful = doubt;
    if (differs)
        return n;
    n = ask(0, j->base[0], bytes, dwords, text);
    doubtful = false;
    return n;
}

#endif
