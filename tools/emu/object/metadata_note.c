/* Reads the msgpack metadata note of a code object into kernel records. */
#include "code_object.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KERNELS = 1 << 16, MAX_ARGS = 4096, MAX_DEPTH = 16 };

enum kind { NIL, BOOL, UINT, STR, ARRAY, MAP, OTHER };

struct item {
    enum kind kind;
    uint64_t u;       /* UINT, BOOL; element count of ARRAY and MAP */
    const char *text; /* STR, not NUL-terminated */
};

struct reader {
    const uint8_t *p, *end;
    char *err;
    size_t errlen;
    bool bad;
};

static bool fail(struct reader *r, const char *text)
{
    if (!r->bad && r->err && r->errlen)
        snprintf(r->err, r->errlen, "code object metadata: %s", text);
    r->bad = true;
    return false;
}

static uint64_t take_be(struct reader *r, unsigned n)
{
    uint64_t v = 0;
    if ((size_t)(r->end - r->p) < n) {
        fail(r, "ends inside a value");
        return 0;
    }
    while (n--)
        v = v << 8 | *r->p++;
    return v;
}

static bool take_bytes(struct reader *r, uint64_t n, struct item *it, enum kind kind)
{
    if (n > (uint64_t)(r->end - r->p))
        return fail(r, "ends inside a string");
    *it = (struct item){kind, n, (const char *)r->p};
    r->p += n;
    return true;
}

static bool take_count(struct reader *r, uint64_t n, struct item *it, enum kind kind)
{
    /* Each element takes at least one byte: a larger count is a lie and would cost memory. */
    if (n > (uint64_t)(r->end - r->p))
        return fail(r, "a map or array is longer than the note");
    *it = (struct item){kind, n, NULL};
    return true;
}

/* One msgpack item; containers give their count and leave the elements to be read. */
static bool next(struct reader *r, struct item *it)
{
    unsigned c = (unsigned)take_be(r, 1);
    if (r->bad)
        return false;
    *it = (struct item){OTHER, 0, NULL};
    if (c < 0x80)
        *it = (struct item){UINT, c, NULL};
    else if (c < 0x90)
        return take_count(r, c & 15, it, MAP);
    else if (c < 0xa0)
        return take_count(r, c & 15, it, ARRAY);
    else if (c < 0xc0)
        return take_bytes(r, c & 31, it, STR);
    else if (c >= 0xe0)
        *it = (struct item){OTHER, c, NULL};
    else
        switch (c) {
        case 0xc0:
            it->kind = NIL;
            break;
        case 0xc2:
        case 0xc3:
            *it = (struct item){BOOL, c & 1, NULL};
            break;
        case 0xc4:
        case 0xc5:
        case 0xc6:
            return take_bytes(r, take_be(r, 1u << (c - 0xc4)), it, OTHER);
        case 0xca:
            take_be(r, 4);
            break;
        case 0xcb:
            take_be(r, 8);
            break;
        case 0xcc:
        case 0xcd:
        case 0xce:
        case 0xcf:
            *it = (struct item){UINT, take_be(r, 1u << (c - 0xcc)), NULL};
            break;
        case 0xd0:
        case 0xd1:
        case 0xd2:
        case 0xd3:
            take_be(r, 1u << (c - 0xd0));
            break;
        case 0xd9:
        case 0xda:
        case 0xdb:
            return take_bytes(r, take_be(r, 1u << (c - 0xd9)), it, STR);
        case 0xdc:
            return take_count(r, take_be(r, 2), it, ARRAY);
        case 0xdd:
            return take_count(r, take_be(r, 4), it, ARRAY);
        case 0xde:
            return take_count(r, take_be(r, 2), it, MAP);
        case 0xdf:
            return take_count(r, take_be(r, 4), it, MAP);
        default:
            return fail(r, "an extension type no compiler writes");
        }
    return !r->bad;
}

static bool skip_rest(struct reader *r, const struct item *it, unsigned depth)
{
    if (it->kind != ARRAY && it->kind != MAP)
        return true;
    if (depth > MAX_DEPTH)
        return fail(r, "nested too deeply");
    uint64_t n = it->kind == MAP ? 2 * it->u : it->u;
    for (uint64_t i = 0; i < n; i++) {
        struct item e;
        if (!next(r, &e) || !skip_rest(r, &e, depth + 1))
            return false;
    }
    return true;
}

static bool key_is(const struct item *k, const char *text)
{
    return k->kind == STR && k->u == strlen(text) && memcmp(k->text, text, k->u) == 0;
}

static bool take_string(struct reader *r, const struct item *v, char **out)
{
    if (v->kind != STR)
        return fail(r, "a name is not a string");
    free(*out);
    *out = strndup(v->text, v->u);
    return *out || fail(r, "out of memory");
}

static bool take_u32(struct reader *r, const struct item *v, uint32_t *out)
{
    if ((v->kind != UINT && v->kind != BOOL) || v->u > UINT32_MAX)
        return fail(r, "a size or count is not a 32-bit number");
    *out = (uint32_t)v->u;
    return true;
}

static bool read_arg(struct reader *r, const struct item *map, struct emu_arg *a)
{
    if (map->kind != MAP)
        return fail(r, "an argument is not a map");
    for (uint64_t i = 0; i < map->u; i++) {
        struct item k, v;
        if (!next(r, &k) || !next(r, &v))
            return false;
        bool ok = key_is(&k, ".offset")          ? take_u32(r, &v, &a->offset)
                  : key_is(&k, ".size")          ? take_u32(r, &v, &a->size)
                  : key_is(&k, ".value_kind")    ? take_string(r, &v, &a->kind)
                  : key_is(&k, ".name")          ? take_string(r, &v, &a->name)
                  : key_is(&k, ".address_space") ? take_string(r, &v, &a->address_space)
                                                 : skip_rest(r, &v, 0);
        if (!ok)
            return false;
    }
    return a->kind || fail(r, "an argument has no value_kind");
}

static bool read_args(struct reader *r, const struct item *list, struct emu_kernel_meta *k)
{
    if (list->kind != ARRAY || list->u > MAX_ARGS || k->args)
        return fail(r, ".args is not one list");
    k->args = calloc(list->u ? list->u : 1, sizeof *k->args);
    if (!k->args)
        return fail(r, "out of memory");
    for (uint64_t i = 0; i < list->u; i++) {
        struct item e;
        k->nargs++;
        if (!next(r, &e) || !read_arg(r, &e, &k->args[i]))
            return false;
    }
    return true;
}

static bool read_reqd(struct reader *r, const struct item *list, struct emu_kernel_meta *k)
{
    if (list->kind != ARRAY || list->u != 3)
        return fail(r, ".reqd_workgroup_size is not three numbers");
    for (int i = 0; i < 3; i++) {
        struct item e;
        if (!next(r, &e) || !take_u32(r, &e, &k->reqd_workgroup_size[i]))
            return false;
    }
    return true;
}

static bool read_kernel_field(struct reader *r, const struct item *key, const struct item *v,
                              struct emu_kernel_meta *k)
{
    const struct {
        const char *key;
        uint32_t *out;
    } numbers[] = {
        {".kernarg_segment_size", &k->kernarg_size},
        {".kernarg_segment_align", &k->kernarg_align},
        {".group_segment_fixed_size", &k->group_segment},
        {".private_segment_fixed_size", &k->private_segment},
        {".wavefront_size", &k->wavefront_size},
        {".max_flat_workgroup_size", &k->max_flat_workgroup_size},
        {".sgpr_count", &k->sgpr_count},
        {".vgpr_count", &k->vgpr_count},
        {".agpr_count", &k->agpr_count},
        {".sgpr_spill_count", &k->sgpr_spills},
        {".vgpr_spill_count", &k->vgpr_spills},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (key_is(key, numbers[i].key))
            return take_u32(r, v, numbers[i].out);
    uint32_t flag;
    if (key_is(key, ".name"))
        return take_string(r, v, &k->name);
    if (key_is(key, ".symbol"))
        return take_string(r, v, &k->symbol);
    if (key_is(key, ".args"))
        return read_args(r, v, k);
    if (key_is(key, ".reqd_workgroup_size"))
        return read_reqd(r, v, k);
    if (key_is(key, ".uniform_work_group_size")) {
        if (!take_u32(r, v, &flag))
            return false;
        k->uniform_work_group_size = flag != 0;
        return true;
    }
    if (key_is(key, ".uses_dynamic_stack")) {
        if (!take_u32(r, v, &flag))
            return false;
        k->uses_dynamic_stack = flag != 0;
        return true;
    }
    return skip_rest(r, v, 0);
}

static bool read_kernel(struct reader *r, const struct item *map, struct emu_kernel_meta *k)
{
    if (map->kind != MAP)
        return fail(r, "a kernel is not a map");
    for (uint64_t i = 0; i < map->u; i++) {
        struct item key, v;
        if (!next(r, &key) || !next(r, &v) || !read_kernel_field(r, &key, &v, k))
            return false;
    }
    if (!k->name || !k->symbol)
        return fail(r, "a kernel has no .name or no .symbol");
    if (k->wavefront_size != 32 && k->wavefront_size != 64)
        return fail(r, "a kernel's .wavefront_size is neither 32 nor 64");
    for (size_t i = 0; i < k->nargs; i++)
        if (k->args[i].size > k->kernarg_size ||
            k->args[i].offset > k->kernarg_size - k->args[i].size)
            return fail(r, "an argument lies outside the kernarg segment");
    return true;
}

static bool read_kernels(struct reader *r, const struct item *list, struct emu_object *o)
{
    if (list->kind != ARRAY || list->u > MAX_KERNELS || o->kernels)
        return fail(r, "amdhsa.kernels is not one list");
    o->kernels = calloc(list->u ? list->u : 1, sizeof *o->kernels);
    if (!o->kernels)
        return fail(r, "out of memory");
    for (uint64_t i = 0; i < list->u; i++) {
        struct item e;
        o->nkernels++;
        if (!next(r, &e) || !read_kernel(r, &e, &o->kernels[i]))
            return false;
    }
    return true;
}

bool emu_note_read(struct emu_object *o, const uint8_t *p, size_t n, char *err, size_t errlen)
{
    struct reader r = {p, p + n, err, errlen, false};
    struct item top;
    if (!next(&r, &top))
        return false;
    if (top.kind != MAP)
        return fail(&r, "the note is not a map");
    for (uint64_t i = 0; i < top.u; i++) {
        struct item k, v;
        if (!next(&r, &k) || !next(&r, &v))
            return false;
        if (key_is(&k, "amdhsa.kernels")) {
            if (!read_kernels(&r, &v, o))
                return false;
        } else if (key_is(&k, "amdhsa.version")) {
            if (v.kind != ARRAY || v.u != 2)
                return fail(&r, "amdhsa.version is not two numbers");
            for (int j = 0; j < 2; j++) {
                struct item e;
                if (!next(&r, &e) || !take_u32(&r, &e, &o->version[j]))
                    return false;
            }
        } else if (!skip_rest(&r, &v, 0)) {
            return false;
        }
    }
    if (o->version[0] != 1)
        return fail(&r, "amdhsa.version is missing or not 1.x");
    return true;
}

void emu_note_free(struct emu_object *o)
{
    for (size_t i = 0; i < o->nkernels; i++) {
        struct emu_kernel_meta *k = &o->kernels[i];
        for (size_t j = 0; j < k->nargs; j++) {
            free(k->args[j].kind);
            free(k->args[j].name);
            free(k->args[j].address_space);
        }
        free(k->args);
        free(k->name);
        free(k->symbol);
    }
    free(o->kernels);
}
