/*
 * The image file as it lies on disk: the one description, shared by the packer (gen/pack.c) and the
 * reader (lib/store/store.c). images/FORMAT.md tells it in prose. All numbers are little-endian;
 * every struct has explicit padding, which is zero.
 *
 * An image file is a legal zstd file, so stock tools can open it. Its parts, without gaps:
 *
 * 1. struct format_header; begins as a zstd skippable frame that spans parts 1 to 3
 * 2. struct format_entry, entry_count of them
 * 3. the zstd dictionary of all frames, as a zstd frame itself; may be empty
 * 4. the zstd frames, one per image, each inflating to a clang offload bundle
 *
 * Rules that the reader checks, each with its own message: magic, version, sizes that add up
 * exactly to the file's size, header and index hash, entries sorted by frame offset, each frame
 * beginning where the one before ends or equal to it, the last ending with the file, terminated
 * strings, frame hash before inflating, exact inflated size.
 */
#ifndef AOTHIP_FORMAT_H
#define AOTHIP_FORMAT_H

#include <stdint.h>

#define FORMAT_DIRECTORY "aotriton.images"
#define FORMAT_FILE "flash/attn.zst" /* below amd-gfxNNN/ */

#define FORMAT_SKIPPABLE_MAGIC 0x184D2A50u
#define FORMAT_MAGIC "AOTHIMG" /* eight bytes with its NUL */
#define FORMAT_VERSION 10u     /* raised when layout, kernarg or a feature changes */

struct format_header {
    uint32_t skippable_magic; /* FORMAT_SKIPPABLE_MAGIC */
    uint32_t skippable_size;  /* bytes from here to frame 0: header + index + dictionary - 8 */
    char magic[8];            /* FORMAT_MAGIC */
    uint32_t version;         /* FORMAT_VERSION */
    uint32_t header_size;     /* sizeof(struct format_header) */
    uint32_t entry_size;      /* sizeof(struct format_entry) */
    uint32_t entry_count;     /* 1 .. FORMAT_MAX_ENTRIES */
    uint32_t dictionary_size; /* bytes of its frame, may be 0 */
    uint32_t kernarg_version; /* FORMAT_KERNARG_VERSION of gen/kernel/kernarg.h at build time */
    char gpu[16];             /* "gfx942": what the code is made for; the directory is of it... */
    uint64_t file_size;       /* of the whole file */
    uint64_t index_hash;      /* XXH3-64 over entries and dictionary */
    uint64_t header_hash;     /* XXH3-64 over this header with header_hash = 0 */
    char siblings[64]; /* ...or one of these, which run it: names, a blank between; or none */
};
_Static_assert(sizeof(struct format_header) == 144, "image header layout");

#define FORMAT_MAX_ENTRIES 4096u
#define FORMAT_MAX_BUNDLE (16u << 20)    /* bytes a frame may inflate to */
#define FORMAT_MAX_DICTIONARY (4u << 20) /* inflated, too */
#define FORMAT_MAX_FILE (256u << 20)     /* it is held in memory; today's are below 3 MiB */

/*
 * What an entry can do. A problem's needs must be a subset; the entry of lowest rank wins. An entry
 * with some but not all of what goes into the scores is for problems with just these.
 */
enum format_feature {
    FORMAT_FEATURE_UNALIGNED = 1u << 0, /* rows of any alignment, any dims from eight on */
    FORMAT_FEATURE_PAGED = 1u << 1,     /* block tables and batch indices */
    FORMAT_FEATURE_STRIDED = 1u << 2,   /* any strides and dims, of a bias and a mask, too */
    FORMAT_FEATURE_BIAS = 1u << 3,      /* of q's type */
    FORMAT_FEATURE_KEEP = 1u << 4,      /* boolean mask */
    FORMAT_FEATURE_SLOPES = 1u << 5,    /* ALiBi */
    FORMAT_FEATURE_SOFTCAP = 1u << 6,
    FORMAT_FEATURE_DROPOUT = 1u << 7,
    FORMAT_FEATURE_FP8_CACHE = 1u << 8, /* k and v are FP8, of any of the four types; q is not */
    FORMAT_FEATURE_PADDING = 1u << 9,   /* boolean mask that is the same for all queries, instead */
                                        /* of FORMAT_FEATURE_KEEP */
    FORMAT_FEATURE_SCORE = 0x2f8u,      /* all that goes into the scores, and bias of any type */
    FORMAT_FEATURE_ALL = 0x3ffu,
};

/* The features that a problem must not lack for an entry: see above; so with an FP8 cache. */
static inline uint32_t format_sole_features(uint32_t features)
{
    const uint32_t score = features & FORMAT_FEATURE_SCORE;
    return (score == FORMAT_FEATURE_SCORE ? 0 : score) | (features & FORMAT_FEATURE_FP8_CACHE);
}

enum format_op {
    FORMAT_OP_ATTN_FWD = 1,
    FORMAT_OP_ATTN_SPLIT = 2,
    FORMAT_OP_ATTN_MERGE = 3,
    FORMAT_OP_ATTN_APPEND = 4,
    FORMAT_OP_ATTN_PROBS = 5,
    FORMAT_OP_ATTN_BWD_DELTA = 6,
    FORMAT_OP_ATTN_BWD_DKDV = 7,
    FORMAT_OP_ATTN_BWD_DQ = 8,
    FORMAT_OP_ATTN_BWD_DBIAS = 9,
    FORMAT_OP_ATTN_BWD_DSCALAR = 10,
    FORMAT_OP_ATTN_MERGE_PART = 11,
    FORMAT_OP_ATTN_BWD_SUM = 12,
    FORMAT_OP_ATTN_BWD_FUSED = 13,
    FORMAT_OP_ATTN_BWD_BEGIN = 14,
    FORMAT_OP_END
};

struct format_entry {
    char symbol[64];   /* kernel symbol in the code object, NUL-terminated, NUL-padded */
    uint8_t op;        /* enum format_op */
    uint8_t dtype;     /* enum aothip_dtype */
    uint16_t rank;     /* preference among entries that fit: lowest wins; unique per op and dtype */
    uint32_t features; /* enum format_feature bits */
    uint16_t dim_max;  /* head dims 1..dim_max; of v see dim_v_max */
    uint16_t tile_q;   /* query rows per workgroup */
    uint16_t tile_k;   /* keys per step */
    uint16_t threads;  /* workgroup size */
    uint32_t kernarg_size;                   /* bytes, as in the code object's notes */
    uint32_t lds_size;                       /* bytes, static */
    uint16_t vgprs, agprs, sgprs, wave_size; /* from the notes, for people; vgprs with agprs */
    uint64_t frame_offset;                   /* from the start of the file */
    uint32_t frame_size;                     /* compressed bytes */
    uint32_t bundle_size;                    /* inflated bytes, 1 .. FORMAT_MAX_BUNDLE */
    uint64_t frame_hash;                     /* XXH3-64 of the compressed bytes */
    uint16_t dim_v_max;                      /* head dims of v 1..dim_v_max; 0: as dim_max says */
    uint16_t dim_min;                        /* the larger head dim is at least this */
    uint8_t reserved[12];                    /* 0 */
};
_Static_assert(sizeof(struct format_entry) == 136, "image entry layout");

/*
 * Beside it may lie a text of what launches take (tune.h), by which tiles are chosen. A launch of W
 * workgroups of S steps each takes start + S * max(alone, ceil(W / units) * shared), in
 * picoseconds. All 0: the text has no row for the kernel.
 */
#define FORMAT_COSTS "flash/tune.txt"
#define FORMAT_COSTS_VERSION 1

struct format_cost {
    uint32_t start, alone, shared;
};

#endif
