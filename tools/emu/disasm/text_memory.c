/*
 * Prints the operands of LDS, flat, global, scratch and buffer instructions.
 */
#include "disasm_parts.h"

#include <string.h>

static void print_hint(struct emu_text *t, const struct emu_insn *in, unsigned th, unsigned scope)
{
    static const char *const hints[] = {"", "NT", "HT", "LU", "NT_RT", "RT_NT", "NT_HT", "NT_WB"};
    static const char *const atomics[] = {"", "RETURN", "NT", "NT_RETURN"};
    bool store = in->flags & EMU_F_STORE;

    if (in->flags & EMU_F_ATOMIC) {
        if (th < 4)
            emu_text_add(t, " th:TH_ATOMIC_%s", atomics[th]);
        else if (scope >= 2)
            emu_text_add(t, " th:TH_ATOMIC_CASCADE_%s", th & 2 ? "NT" : "RT");
        else
            emu_text_add(t, " th:TH_ATOMIC_0x%x", th);
    } else if (th == 7 && !store) {
        emu_text_add(t, " th:0x%x", th);
    } else {
        emu_text_add(t, " th:TH_%s_%s", store ? "STORE" : "LOAD",
                     th != 3      ? hints[th]
                     : scope == 3 ? "BYPASS"
                     : store      ? "WB"
                                  : "LU");
    }
}

void emu_print_policy(struct emu_text *t, const struct emu_insn *in)
{
    static const char *const scopes[] = {"", "SE", "DEV", "SYS"};
    unsigned th = in->cpol & 7, scope = in->cpol >> 3;

    if (th)
        print_hint(t, in, th, scope);
    if (scope)
        emu_text_add(t, " scope:SCOPE_%s", scopes[scope]);
}

static void cache_bits(struct emu_text *t, const struct emu_insn *in)
{
    if (emu_is_gfx12(in)) {
        emu_print_policy(t, in);
        return;
    }
    if (emu_is_gfx94(in->family)) {
        emu_text_add(t, "%s%s%s", in->mem & EMU_M_GLC ? " sc0" : "",
                     in->mem & EMU_M_SLC ? " nt" : "", in->mem & EMU_M_SCC ? " sc1" : "");
        return;
    }
    emu_text_add(t, "%s%s%s%s", in->mem & EMU_M_GLC ? " glc" : "",
                 in->mem & EMU_M_SLC ? " slc" : "", in->mem & EMU_M_DLC ? " dlc" : "",
                 in->mem & EMU_M_SCC ? " scc" : "");
}

static void next(struct emu_text *t, bool *first)
{
    emu_text_add(t, *first ? " " : ", ");
    *first = false;
}

static void print_ds(struct emu_text *t, const struct emu_insn *in)
{
    const char *name = emu_rows[in->row].name;
    bool first = true, two = strstr(name, "read2") || strstr(name, "write2") ||
                             strstr(name, "xchg2") || strstr(name, "2addr");

    if (in->ndst) {
        next(t, &first);
        emu_print_operand(t, in, &in->dst[0]);
    }
    for (unsigned i = 0; i < in->nsrc; i++)
        if (in->src[i].kind != EMU_OPK_NONE) {
            next(t, &first);
            emu_print_operand(t, in, &in->src[i]);
        }
    if (two) {
        if (in->offset0)
            emu_text_add(t, " offset0:%u", in->offset0);
        if (in->offset1)
            emu_text_add(t, " offset1:%u", in->offset1);
    } else if (in->offset && !strcmp(name, "ds_swizzle_b32")) {
        emu_print_swizzle(t, (unsigned)in->offset);
    } else if (in->offset) {
        emu_text_add(t, " offset:%d", in->offset);
    }
    if (in->mem & EMU_M_GDS)
        emu_text_add(t, " gds");
}

static void print_flat(struct emu_text *t, const struct emu_insn *in)
{
    bool first = true;

    if (in->ndst) {
        next(t, &first);
        emu_print_operand(t, in, &in->dst[0]);
    }
    if (emu_row_sig(in->row)->has_addr) {
        next(t, &first);
        emu_print_operand(t, in, &in->src[0]);
    }
    if (in->src[1].kind != EMU_OPK_NONE) {
        next(t, &first);
        emu_print_operand(t, in, &in->src[1]);
    }
    if (in->enc != EMU_FLAT && (in->nsrc || !emu_is_gfx12(in))) {
        next(t, &first);
        emu_print_operand(t, in, &in->src[2]);
    }
    if (in->offset)
        emu_text_add(t, " offset:%d", in->offset);
    cache_bits(t, in);
    if (in->mem & EMU_M_LDS)
        emu_text_add(t, " lds");
}

static void print_buffer(struct emu_text *t, const struct emu_insn *in)
{
    bool first = true;

    if (!emu_row_sig(in->row)->nsrc) {
        cache_bits(t, in);
        return;
    }
    if (in->ndst || in->src[1].kind != EMU_OPK_NONE) {
        next(t, &first);
        emu_print_operand(t, in, in->ndst ? &in->dst[0] : &in->src[1]);
    }
    if (!emu_row_sig(in->row)->from_lds) {
        next(t, &first);
        emu_print_operand(t, in, &in->src[0]);
    }
    next(t, &first);
    emu_print_operand(t, in, &in->src[2]);
    next(t, &first);
    emu_print_operand(t, in, &in->src[3]);
    if (in->enc == EMU_MTBUF)
        emu_print_format(t, in);
    emu_text_add(t, "%s%s", in->mem & EMU_M_IDXEN ? " idxen" : "",
                 in->mem & EMU_M_OFFEN ? " offen" : "");
    if (in->offset)
        emu_text_add(t, " offset:%d", in->offset);
    if (emu_row_sig(in->row)->from_lds)
        emu_text_add(t, " lds");
    cache_bits(t, in);
    emu_text_add(t, "%s%s", in->mem & EMU_M_TFE ? " tfe" : "", in->mem & EMU_M_LDS ? " lds" : "");
}

void emu_print_memory(struct emu_text *t, const struct emu_insn *in)
{
    if (in->enc == EMU_DS)
        print_ds(t, in);
    else if (in->enc == EMU_MUBUF || in->enc == EMU_MTBUF)
        print_buffer(t, in);
    else
        print_flat(t, in);
}

/* ---- buffer formats ---- */

static const char *const data9[] = {"INVALID",     "8",          "16",          "8_8",
                                    "32",          "16_16",      "10_11_11",    "11_11_10",
                                    "10_10_10_2",  "2_10_10_10", "8_8_8_8",     "32_32",
                                    "16_16_16_16", "32_32_32",   "32_32_32_32", "RESERVED_15"};
static const char *const num9[] = {"UNORM", "SNORM", "USCALED",    "SSCALED",
                                   "UINT",  "SINT",  "RESERVED_6", "FLOAT"};
static const char *const format11[] = {"INVALID",
                                       "8_UNORM",
                                       "8_SNORM",
                                       "8_USCALED",
                                       "8_SSCALED",
                                       "8_UINT",
                                       "8_SINT",
                                       "16_UNORM",
                                       "16_SNORM",
                                       "16_USCALED",
                                       "16_SSCALED",
                                       "16_UINT",
                                       "16_SINT",
                                       "16_FLOAT",
                                       "8_8_UNORM",
                                       "8_8_SNORM",
                                       "8_8_USCALED",
                                       "8_8_SSCALED",
                                       "8_8_UINT",
                                       "8_8_SINT",
                                       "32_UINT",
                                       "32_SINT",
                                       "32_FLOAT",
                                       "16_16_UNORM",
                                       "16_16_SNORM",
                                       "16_16_USCALED",
                                       "16_16_SSCALED",
                                       "16_16_UINT",
                                       "16_16_SINT",
                                       "16_16_FLOAT",
                                       "10_11_11_FLOAT",
                                       "11_11_10_FLOAT",
                                       "10_10_10_2_UNORM",
                                       "10_10_10_2_SNORM",
                                       "10_10_10_2_UINT",
                                       "10_10_10_2_SINT",
                                       "2_10_10_10_UNORM",
                                       "2_10_10_10_SNORM",
                                       "2_10_10_10_USCALED",
                                       "2_10_10_10_SSCALED",
                                       "2_10_10_10_UINT",
                                       "2_10_10_10_SINT",
                                       "8_8_8_8_UNORM",
                                       "8_8_8_8_SNORM",
                                       "8_8_8_8_USCALED",
                                       "8_8_8_8_SSCALED",
                                       "8_8_8_8_UINT",
                                       "8_8_8_8_SINT",
                                       "32_32_UINT",
                                       "32_32_SINT",
                                       "32_32_FLOAT",
                                       "16_16_16_16_UNORM",
                                       "16_16_16_16_SNORM",
                                       "16_16_16_16_USCALED",
                                       "16_16_16_16_SSCALED",
                                       "16_16_16_16_UINT",
                                       "16_16_16_16_SINT",
                                       "16_16_16_16_FLOAT",
                                       "32_32_32_UINT",
                                       "32_32_32_SINT",
                                       "32_32_32_FLOAT",
                                       "32_32_32_32_UINT",
                                       "32_32_32_32_SINT",
                                       "32_32_32_32_FLOAT"};

/* Format 1 (8, UNORM) is the default of both encodings and is not printed. */
void emu_print_format(struct emu_text *t, const struct emu_insn *in)
{
    unsigned f = in->format, data = f & 15, num = f >> 4;

    if (f == 1)
        return;
    if (emu_is_gfx11(in)) {
        if (f < sizeof format11 / sizeof format11[0])
            emu_text_add(t, " format:[BUF_FMT_%s]", format11[f]);
        else
            emu_text_add(t, " format:%u", f);
        return;
    }
    emu_text_add(t, " format:[");
    if (data != 1)
        emu_text_add(t, "BUF_DATA_FORMAT_%s%s", data9[data], num ? "," : "");
    if (num)
        emu_text_add(t, "BUF_NUM_FORMAT_%s", num9[num]);
    emu_text_add(t, "]");
}

/* ---- swizzles ---- */

static void print_bitmask(struct emu_text *t, unsigned and, unsigned or, unsigned xor)
{
    if (xor&&!(xor&(xor-1)) && and == 31 && ! or) {
        emu_text_add(t, "swizzle(SWAP,%u)", xor);
        return;
    }
    if (and == 31 && ! or &&xor&&!(xor&(xor+1))) {
        emu_text_add(t, "swizzle(REVERSE,%u)", xor+1);
        return;
    }
    /* Groups of 32, 16, ... lanes that read one lane of theirs. */
    if (and < 31 && !xor&&and == (~((unsigned)(32 - and) - 1) & 31) && or
        < 32 - and&&!((32 - and) & (31 - and))) {
        emu_text_add(t, "swizzle(BROADCAST,%u,%u)", 32 - and, or);
        return;
    }
    emu_text_add(t, "swizzle(BITMASK_PERM,\"");
    for (unsigned bit = 16; bit; bit >>= 1) {
        /* What the bit of the lane number becomes: 0, 1, itself or inverted. */
        unsigned zero = (or &bit) ^ (xor&bit), one = ((and | or) & bit) ^ (xor&bit);

        emu_text_add(t, "%c", zero ? (one ? '1' : 'i') : (one ? 'p' : '0'));
    }
    emu_text_add(t, "\")");
}

void emu_print_swizzle(struct emu_text *t, unsigned x)
{
    emu_text_add(t, " offset:");
    if ((x & 0xff00) == 0x8000)
        emu_text_add(t, "swizzle(QUAD_PERM,%u,%u,%u,%u)", x & 3, x >> 2 & 3, x >> 4 & 3,
                     x >> 6 & 3);
    else if (!(x & 0x8000))
        print_bitmask(t, x & 31, x >> 5 & 31, x >> 10 & 31);
    else
        emu_text_add(t, "%u", x);
}
