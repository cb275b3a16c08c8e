/*
 * Code objects: ELF64 for AMDGPU, clang offload bundles, kernel metadata, line tables.
 *
 * Everything here reads untrusted bytes: every offset, length and count is checked against the
 * image before use, and a failure is one line of text that says which field is wrong. No HIP, no
 * device memory, no global state; an object may be read from several threads once opened.
 */
#ifndef EMU_ELF_H
#define EMU_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* State of a target feature, as in e_flags: a code object or a device states it or leaves it. */
enum emu_feature {
    EMU_FEATURE_NONE, /* the processor has no such feature */
    EMU_FEATURE_ANY,
    EMU_FEATURE_OFF,
    EMU_FEATURE_ON,
};

/* A target ID such as "gfx90a:sramecc+:xnack-" taken apart. */
struct emu_target {
    char processor[24];
    uint32_t mach; /* EF_AMDGPU_MACH, 0 for a generic processor */
    enum emu_feature xnack, sramecc;
};

/* One processor LLVM knows a machine number for; `emulated` ones have an instruction table. */
struct emu_processor {
    const char *name;
    uint32_t mach;
    bool has_xnack, has_sramecc, emulated;
    const char *generic; /* name of the generic processor whose code also runs here, or NULL */
};

/* Row for a name without features, or a machine number; NULL if unknown. */
const struct emu_processor *emu_processor_find(const char *name);
const struct emu_processor *emu_processor_mach(uint32_t mach);
/* i-th row, NULL past the end: for error messages that list what is known. */
const struct emu_processor *emu_processor_at(unsigned i);

/* Parses `n` characters of a target ID. False (and a text in err) for an unknown processor or a
 * feature that the processor lacks or that is stated twice. */
bool emu_target_parse(const char *text, size_t n, struct emu_target *out, char *err, size_t errlen);
/* Writes the canonical target ID; at most 63 characters and NUL. */
void emu_target_print(const struct emu_target *t, char out[64]);
/* May code built for `code` run on `device`? Equal processor; a stated feature must be equal. */
bool emu_target_fits(const struct emu_target *code, const struct emu_target *device);

/* The 64-byte kernel descriptor, decoded. Offsets as in LLVM's AMDGPUUsage. */
struct emu_kd {
    uint32_t group_segment, private_segment, kernarg_size;
    int64_t entry_offset; /* from the descriptor itself */
    uint32_t rsrc1, rsrc2, rsrc3;
    uint16_t properties, kernarg_preload;
};

struct emu_arg {
    uint32_t offset, size;
    char *kind;          /* value_kind: "by_value", "global_buffer", "hidden_block_count_x", ... */
    char *name;          /* may be NULL */
    char *address_space; /* may be NULL */
};

struct emu_kernel_meta {
    char *name;   /* as in the source */
    char *symbol; /* of the descriptor: name.kd */
    struct emu_arg *args;
    size_t nargs;
    uint32_t kernarg_size, kernarg_align, group_segment, private_segment;
    uint32_t wavefront_size, max_flat_workgroup_size;
    uint32_t sgpr_count, vgpr_count, agpr_count, sgpr_spills, vgpr_spills;
    uint32_t reqd_workgroup_size[3]; /* 0 when not stated */
    bool uniform_work_group_size, uses_dynamic_stack;
    struct emu_kd kd;
    uint64_t kd_addr, entry; /* virtual addresses inside the object */
    uint64_t code_size;      /* bytes of the kernel's STT_FUNC symbol; 0 if it has none */
};

struct emu_segment {
    uint64_t vaddr, offset, filesz, memsz;
    uint32_t flags; /* PF_X 1, PF_W 2, PF_R 4 */
};

struct emu_symbol {
    const char *name; /* inside the image */
    uint64_t value, size;
    uint8_t type; /* STT_OBJECT 1, STT_FUNC 2 */
    bool defined, global;
};

struct emu_symbols {
    struct emu_symbol *symbol;
    size_t count;
};

struct emu_reloc {
    uint64_t offset;
    int64_t addend;
    uint32_t type, symbol;
};

struct emu_line_table;

struct emu_object {
    uint8_t *image; /* own copy */
    size_t size;
    struct emu_target target;
    uint32_t flags;      /* e_flags */
    uint8_t abi_version; /* EI_ABIVERSION: 2, 3, 4 are code object v4, v5, v6 */
    uint32_t version[2]; /* amdhsa.version */
    struct emu_segment *segments;
    size_t nsegments;
    uint64_t span;              /* end of the highest PT_LOAD */
    struct emu_symbols symbols; /* of the section SHT_SYMTAB: descriptors and variables */
    struct emu_symbols
        dynamic; /* of SHT_DYNSYM: what relocations name, and what can be asked for */
    struct emu_kernel_meta *kernels;
    size_t nkernels;
    struct emu_reloc *relocs;
    size_t nrelocs;
    struct emu_line_table *lines; /* NULL without .debug_line */
};

/*
 * Opens an ELF of `size` bytes (copied). Returns NULL and a text in err when it is not a well
 * formed AMDGPU code object. Close with emu_object_close, which accepts NULL.
 */
struct emu_object *emu_object_open(const void *data, size_t size, char *err, size_t errlen);
void emu_object_close(struct emu_object *o);

/* A variable by its name. */
const struct emu_symbol *emu_object_variable(const struct emu_object *o, const char *name);
/* A kernel by the name of its function, which must be in the dynamic table. */
const struct emu_kernel_meta *emu_object_kernel(const struct emu_object *o, const char *name);
/* Copies [vaddr, vaddr+size) out of the loadable contents; false outside every segment. Bytes past
 * filesz read 0. */
bool emu_object_read(const struct emu_object *o, uint64_t vaddr, void *out, size_t size);
/* File offset of a virtual address range that must be wholly backed by the file. */
bool emu_object_offset(const struct emu_object *o, uint64_t vaddr, uint64_t size, uint64_t *off);

/* Kernel metadata from the msgpack note (metadata_note.c); internal to emu_object_open. */
bool emu_note_read(struct emu_object *o, const uint8_t *p, size_t n, char *err, size_t errlen);
void emu_note_free(struct emu_object *o);

/* Line tables (line_table.c). Missing or odd tables give NULL or false, never an error: source
 * lines are a courtesy of the fault report. */
struct emu_line_table *emu_line_open(const uint8_t *image, size_t size);
void emu_line_close(struct emu_line_table *t);
/* File and line of the code at virtual address `vaddr`; the text lives as long as the table. */
bool emu_line_find(const struct emu_line_table *t, uint64_t vaddr, const char **file,
                   unsigned *line);

/* Bundles (offload_bundle.c). */

/* One entry of a clang offload bundle. */
struct emu_bundle_entry {
    const char *id; /* not NUL-terminated */
    size_t id_len;
    uint64_t offset, size;
};
/* Is this the start of an uncompressed bundle? `size` may be SIZE_MAX when unknown. */
bool emu_bundle_is(const void *data, size_t size);
/* i-th entry; false and a text when the header is malformed or i is past the end (empty text). */
bool emu_bundle_entry(const void *data, size_t size, uint64_t i, struct emu_bundle_entry *out,
                      char *err, size_t errlen);
/*
 * Finds the ELF for a device in an ELF, a bundle or a fat-binary wrapper's contents. `size` is
 * SIZE_MAX when the caller knows only a pointer, as hipModuleLoadData does: then the extent is what
 * the headers say. The first entry for the device's own processor that fits wins, else the first
 * for its generic one. False and a text that lists the targets present when none fits.
 */
bool emu_code_select(const void *data, size_t size, const struct emu_target *device,
                     const void **elf, size_t *elf_size, char *err, size_t errlen);

#endif
