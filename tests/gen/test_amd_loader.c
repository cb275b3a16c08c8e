/*
 * The shipped code objects under AMD's own code, which needs no GPU for this: ROCr's loader
 * (libhsa-runtime64) must find the descriptor of every kernel, and comgr (libamd_comgr) must choose
 * the code object out of its bundle, know its ISA, read its metadata and find its symbols. That is
 * what hipModuleLoadData and hipModuleGetFunction ask them (clr: hip_fatbin.cpp, devprogram.cpp,
 * rocprogram.cpp, rockernel.cpp).
 *
 * Both come with Debian's libamdhip64-dev. What a version does not know is skipped by name: the
 * comgr of Debian 12 (ROCm 5.2.3) knows gfx90a of our GPUs only, so the name of the ISA is asked
 * for that one; ROCr's reader does not ask which GPU an object is for.
 */
#include <dlfcn.h>
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

#include "bundle.h"
#include "store.h"
#include "tap.h"

/* Handles of both libraries are structs of one 64-bit number. */
struct handle {
    uint64_t value;
};

/* The part of hsa.h that is used; the functions are deprecated, but are the loader's own reader. */
enum { HSA_SYMBOL_NAME_LENGTH = 1, HSA_SYMBOL_NAME = 2 };

static struct {
    int (*init)(void);
    int (*deserialize)(void *bytes, size_t size, const char *options, struct handle *object);
    int (*iterate_symbols)(struct handle object,
                           int (*callback)(struct handle, struct handle, void *), void *data);
    int (*symbol_info)(struct handle symbol, int attribute, void *value);
    int (*destroy)(struct handle object);
} hsa;

/* The part of amd_comgr.h that is used, the same in its versions 2 and 3. */
enum { COMGR_EXECUTABLE = 8, COMGR_FATBIN = 16 };
enum { COMGR_SYMBOL_TYPE = 2, COMGR_SYMBOL_SIZE = 3, COMGR_SYMBOL_UNDEFINED = 4 };

struct code_object_info {
    const char *isa;
    size_t size;
    uint64_t offset;
};

static struct {
    void (*version)(size_t *major, size_t *minor);
    int (*isa_count)(size_t *count);
    int (*isa_name)(size_t index, const char **name);
    int (*create_data)(int kind, struct handle *data);
    int (*set_data)(struct handle data, size_t size, const char *bytes);
    int (*release_data)(struct handle data);
    int (*data_isa_name)(struct handle data, size_t *size, char *name);
    int (*data_metadata)(struct handle data, struct handle *node);
    int (*metadata_lookup)(struct handle node, const char *key, struct handle *value);
    int (*list_size)(struct handle node, size_t *size);
    int (*list_item)(struct handle node, size_t index, struct handle *value);
    int (*metadata_string)(struct handle node, size_t *size, char *text);
    int (*symbol_lookup)(struct handle data, const char *name, struct handle *symbol);
    int (*symbol_info)(struct handle symbol, int attribute, void *value);
    int (*lookup_code_object)(struct handle data, struct code_object_info *list, size_t count);
} comgr;

static bool load_hsa(void)
{
    void *library = dlopen("libhsa-runtime64.so.1", RTLD_NOW);
    if (!library)
        return false;
#define TAKE(field, name) *(void **)&hsa.field = dlsym(library, name)
    TAKE(init, "hsa_init");
    TAKE(deserialize, "hsa_code_object_deserialize");
    TAKE(iterate_symbols, "hsa_code_object_iterate_symbols");
    TAKE(symbol_info, "hsa_code_symbol_get_info");
    TAKE(destroy, "hsa_code_object_destroy");
#undef TAKE
    return hsa.init && hsa.deserialize && hsa.iterate_symbols && hsa.symbol_info && hsa.destroy;
}

static bool load_comgr(void)
{
    static const char *const names[] = {"libamd_comgr.so.3", "libamd_comgr.so.2"};
    void *library = NULL;
    for (int i = 0; i < 2 && !library; i++)
        library = dlopen(names[i], RTLD_NOW);
    if (!library)
        return false;
#define TAKE(field, name) *(void **)&comgr.field = dlsym(library, "amd_comgr_" name)
    TAKE(version, "get_version");
    TAKE(isa_count, "get_isa_count");
    TAKE(isa_name, "get_isa_name");
    TAKE(create_data, "create_data");
    TAKE(set_data, "set_data");
    TAKE(release_data, "release_data");
    TAKE(data_isa_name, "get_data_isa_name");
    TAKE(data_metadata, "get_data_metadata");
    TAKE(metadata_lookup, "metadata_lookup");
    TAKE(list_size, "get_metadata_list_size");
    TAKE(list_item, "index_list_metadata");
    TAKE(metadata_string, "get_metadata_string");
    TAKE(symbol_lookup, "symbol_lookup");
    TAKE(symbol_info, "symbol_get_info");
    TAKE(lookup_code_object, "lookup_code_object");
#undef TAKE
    return comgr.version && comgr.data_metadata && comgr.lookup_code_object;
}

/* A kernel of an image, and what was found of it. */
struct kernel {
    const char *gpu, *name;
    uint8_t *bundle;
    size_t bundle_size;
    struct bundle_code code;
    uint32_t kernarg_size;
};

struct search {
    const char *name; /* of a descriptor */
    int found, symbols;
};

static int see_symbol(struct handle object, struct handle symbol, void *data)
{
    struct search *search = data;
    char name[256] = "";
    uint32_t length = 0;
    (void)object;
    hsa.symbol_info(symbol, HSA_SYMBOL_NAME_LENGTH, &length);
    if (length < sizeof(name))
        hsa.symbol_info(symbol, HSA_SYMBOL_NAME, name);
    search->symbols++;
    search->found += !strcmp(name, search->name);
    return 0;
}

/* Whether ROCr finds the descriptor in a code object, once. */
static bool rocr_finds(void *bytes, size_t size, const char *descriptor, int *symbols)
{
    struct search search = {descriptor, 0, 0};
    struct handle object = {0};
    if (hsa.deserialize(bytes, size, NULL, &object))
        return false;
    hsa.iterate_symbols(object, see_symbol, &search);
    hsa.destroy(object);
    *symbols = search.symbols;
    return search.found == 1;
}

/* ROCr finds the descriptor, and finds nothing where SHT_SYMTAB is emptied: no other table serves.
 */
static bool check_rocr(const struct kernel *k)
{
    char descriptor[96];
    int with = 0, without = 0;
    uint8_t *copy = malloc(k->code.size);
    memcpy(copy, k->code.bytes, k->code.size);
    snprintf(descriptor, sizeof(descriptor), "%s.kd", k->name);
    const bool good = rocr_finds(copy, k->code.size, descriptor, &with);
    Elf64_Ehdr *head = (Elf64_Ehdr *)copy;
    Elf64_Shdr *sections = (Elf64_Shdr *)(copy + head->e_shoff);
    for (int i = 0; i < head->e_shnum; i++)
        if (sections[i].sh_type == SHT_SYMTAB)
            sections[i].sh_size = 0;
    const bool stripped = rocr_finds(copy, k->code.size, descriptor, &without);
    free(copy);
    return good && !stripped && !without;
}

static bool has_text(struct handle map, const char *key, const char *wanted)
{
    struct handle node;
    char text[256] = "";
    size_t size = sizeof(text);
    return !comgr.metadata_lookup(map, key, &node) && !comgr.metadata_string(node, &size, text) &&
           !strcmp(text, wanted);
}

static bool check_metadata(struct handle data, const struct kernel *k)
{
    struct handle root, kernels, kernel;
    char descriptor[96], target[96], arguments[16];
    size_t count = 0;
    snprintf(descriptor, sizeof(descriptor), "%s.kd", k->name);
    snprintf(target, sizeof(target), "amdgcn-amd-amdhsa--%s", k->gpu);
    snprintf(arguments, sizeof(arguments), "%u", k->kernarg_size);
    return !comgr.data_metadata(data, &root) && has_text(root, "amdhsa.target", target) &&
           !comgr.metadata_lookup(root, "amdhsa.kernels", &kernels) &&
           !comgr.list_size(kernels, &count) && count == 1 &&
           !comgr.list_item(kernels, 0, &kernel) && has_text(kernel, ".name", k->name) &&
           has_text(kernel, ".symbol", descriptor) &&
           has_text(kernel, ".kernarg_segment_size", arguments);
}

static bool has_symbol(struct handle data, const char *name, int type, uint64_t least)
{
    struct handle symbol;
    int is = -1;
    uint64_t size = 0;
    bool undefined = true;
    return !comgr.symbol_lookup(data, name, &symbol) &&
           !comgr.symbol_info(symbol, COMGR_SYMBOL_TYPE, &is) &&
           !comgr.symbol_info(symbol, COMGR_SYMBOL_SIZE, &size) &&
           !comgr.symbol_info(symbol, COMGR_SYMBOL_UNDEFINED, &undefined) && is == type &&
           size >= least && !undefined;
}

static bool check_symbols(struct handle data, const struct kernel *k)
{
    char descriptor[96];
    snprintf(descriptor, sizeof(descriptor), "%s.kd", k->name);
    return has_symbol(data, k->name, STT_FUNC, 4) && has_symbol(data, descriptor, STT_OBJECT, 64);
}

/*
 * The ISA comgr names of a copy that calls itself code object version 4: the e_flags of 4 and 5 are
 * the same, and Debian 12's comgr knows 4 only.
 */
static bool check_isa(const struct kernel *k)
{
    struct handle data;
    char name[96] = "", wanted[96];
    size_t size = sizeof(name);
    uint8_t *copy = malloc(k->code.size);
    memcpy(copy, k->code.bytes, k->code.size);
    copy[EI_ABIVERSION] = 2;
    snprintf(wanted, sizeof(wanted), "amdgcn-amd-amdhsa--%s", k->gpu);
    bool good = !comgr.create_data(COMGR_EXECUTABLE, &data);
    if (good) {
        good = !comgr.set_data(data, k->code.size, (const char *)copy) &&
               !comgr.data_isa_name(data, &size, name) && !strcmp(name, wanted);
        comgr.release_data(data);
    }
    free(copy);
    return good;
}

/* HIP shows comgr no more than the first 4096 bytes of a bundle (PopulateCodeObjectMap()). */
static bool check_bundle(const struct kernel *k, const char *device)
{
    char isa[96];
    struct code_object_info info = {isa, 0, 0};
    struct handle data;
    snprintf(isa, sizeof(isa), "amdgcn-amd-amdhsa--%s", device);
    if (comgr.create_data(COMGR_FATBIN, &data))
        return false;
    const bool good = !comgr.set_data(data, 4096, (const char *)k->bundle) &&
                      !comgr.lookup_code_object(data, &info, 1) && info.size == k->code.size &&
                      k->bundle + info.offset == k->code.bytes;
    comgr.release_data(data);
    return good;
}

enum { ROCR, BUNDLE, METADATA, SYMBOLS, ISA, CHECKS };

static const char *const check_names[CHECKS] = {
    "ROCr finds the descriptor in the symbol table, and only there",
    "comgr chooses the code object out of the bundle",
    "comgr reads the metadata",
    "comgr finds kernel and descriptor",
    "comgr knows the ISA",
};

static void check_kernel(const struct kernel *k, const char *device, bool rocr, bool isa_known,
                         int failures[CHECKS])
{
    struct handle data;
    bool good[CHECKS] = {true, true, true, true, true};
    if (rocr)
        good[ROCR] = check_rocr(k);
    if (comgr.version && !comgr.create_data(COMGR_EXECUTABLE, &data)) {
        const bool set = !comgr.set_data(data, k->code.size, (const char *)k->code.bytes);
        good[BUNDLE] = check_bundle(k, device);
        good[METADATA] = set && check_metadata(data, k);
        good[SYMBOLS] = set && check_symbols(data, k);
        good[ISA] = !isa_known || check_isa(k);
        comgr.release_data(data);
    }
    for (int i = 0; i < CHECKS; i++)
        if (!good[i] && !failures[i]++)
            tap_diag("not so for %s", k->name);
}

static bool comgr_knows(const char *gpu)
{
    char wanted[96];
    size_t count = 0;
    const char *name;
    snprintf(wanted, sizeof(wanted), "amdgcn-amd-amdhsa--%s", gpu);
    comgr.isa_count(&count);
    for (size_t i = 0; i < count; i++)
        if (!comgr.isa_name(i, &name) && !strcmp(name, wanted))
            return true;
    return false;
}

static void check_gpu(const char *images, const char *gpu, const char *device, bool rocr)
{
    struct store store;
    struct status why;
    struct target target;
    int failures[CHECKS] = {0};
    const bool known = comgr.version && comgr_knows(gpu);
    status_clear(&why);
    if (store_open(&store, images, gpu, &why)) {
        ok(why.code == AOTHIP_E_NO_IMAGES, "%s: %s", gpu, why.text); /* not configured */
        return;
    }
    if (!known)
        device = gpu; /* the features of a GPU are known with it only */
    target_parse(device, strlen(device), &target);
    for (uint32_t i = 0; i < store.header->entry_count; i++) {
        const struct format_entry *e = &store.entries[i];
        const struct bundle_name name = {store.path, e->symbol};
        struct kernel k = {.gpu = gpu,
                           .name = e->symbol,
                           .bundle_size = e->bundle_size,
                           .kernarg_size = e->kernarg_size};
        if (store_inflate(&store, i, &k.bundle, &why) ||
            bundle_find(k.bundle, k.bundle_size, &target, &name, &k.code, &why)) {
            ok(0, "%s", why.text);
            status_clear(&why);
        } else {
            check_kernel(&k, device, rocr, known, failures);
        }
        free(k.bundle);
    }
    for (int i = 0; i < CHECKS; i++) {
        const char *lacking = i == ROCR            ? (rocr ? NULL : "ROCr that starts here")
                              : !comgr.version     ? "libamd_comgr.so.2"
                              : i == ISA && !known ? "comgr that knows this GPU"
                                                   : NULL;
        if (lacking)
            ok(1, "%s: %s # SKIP no %s", gpu, check_names[i], lacking);
        else
            ok(!failures[i], "%s: %s, of %u kernels", gpu, check_names[i],
               store.header->entry_count);
    }
    store_close(&store);
}

int main(int argc, char **argv)
{
    static const char *const gpus[][2] = {{"gfx90a", "gfx90a:sramecc+:xnack-"},
                                          {"gfx942", "gfx942:sramecc+:xnack-"},
                                          {"gfx1100", "gfx1100"},
                                          {"gfx1151", "gfx1151"},
                                          {"gfx1201", "gfx1201"},
                                          {"gfx1101", "gfx1101"}, /* siblings of these */
                                          {"gfx1102", "gfx1102"},
                                          {"gfx1103", "gfx1103"},
                                          {"gfx1150", "gfx1150"},
                                          {"gfx1152", "gfx1152"},
                                          {"gfx1153", "gfx1153"},
                                          {"gfx1200", "gfx1200"}};
    const char *images = argc > 1 ? argv[1] : "images/aotriton.images";
    const bool have_hsa = load_hsa(), have_comgr = load_comgr();
    const bool rocr = have_hsa && !hsa.init();
    size_t major = 0, minor = 0;
    if (!have_comgr)
        comgr.version = NULL;
    if (!rocr && !have_comgr)
        tap_skip_all("there is neither libhsa-runtime64.so.1 nor libamd_comgr.so.2");
    if (have_comgr)
        comgr.version(&major, &minor);
    tap_diag("ROCr: %s; comgr: %zu.%zu", rocr ? "here" : "not here, or wants a driver", major,
             minor);
    for (size_t i = 0; i < sizeof(gpus) / sizeof(*gpus); i++)
        check_gpu(images, gpus[i][0], gpus[i][1], rocr);
    return tap_done();
}
