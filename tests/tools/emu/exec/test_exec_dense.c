/*
 * What the emulator does for all lanes of a wave at once: loads and stores of dwords with the
 * limits that must still hold for the last lane, and v_perm_b32 without special selectors. All
 * lanes are active. In strict mode and in plain mode, which has ways of its own.
 */
#include "test_exec_programs.h"

/* results lie behind what is read */
#define STORE(v) "s_waitcnt vmcnt(0)\nglobal_store_dword v5, " v ", s[2:3] offset:2048\n"
/* the last lane's dwords end at byte 1024, where LDS ends */
#define ADDRESS "v_lshlrev_b32 v6, 4, v0\n"
#define VALUES                                                                                     \
    "v_lshlrev_b32 v8, 2, v0\nv_or_b32 v9, 1, v8\nv_or_b32 v10, 2, v8\nv_or_b32 v11, 3, v8\n"
#define WAIT "s_waitcnt lgkmcnt(0)\ns_barrier\n"
/* a raw buffer of n bytes */
#define BUFFER(n) "s_mov_b32 s8, s2\ns_mov_b32 s9, s3\ns_mov_b32 s10, " #n "\ns_mov_b32 s11, %s\n"

static uint32_t mirrored(uint32_t i)
{
    return 4 * (63 - i) + 3;
}

static uint32_t second(uint32_t i)
{
    return 4 * i + 1;
}

static uint32_t last(uint32_t i)
{
    return 4 * i + 3;
}

static uint32_t nothing(uint32_t i)
{
    (void)i;
    return 0;
}

static uint32_t first_half(uint32_t i)
{
    return i < 32 ? 4 * i + 3 : 0;
}

static uint32_t last_but_one_item(uint32_t i)
{
    return i == 63 ? 0 : 4 * i + 3;
}

static uint32_t permuted(uint32_t i)
{
    uint32_t a = 0x01020304 + i, b = 0x11223344;

    return (b >> 24) | (a & 0xff) << 8 | (b & 0xff) << 16 | (a >> 16 & 0xff) << 24;
}

static const struct asm_program programs[] = {
    {"four dwords to LDS and back from another lane",
     ADDRESS VALUES "ds_write_b128 v6, v[8:11]\n" WAIT
                    "v_xor_b32 v7, 0x3f0, v6\nds_read_b128 v[12:15], v7\n" WAIT STORE("v15"),
     mirrored, NULL},
    {"two dwords",
     ADDRESS VALUES "ds_write_b64 v6, v[8:9]\n" WAIT "ds_read_b64 v[12:13], v6\n" WAIT STORE("v13"),
     second, NULL},
    {"two pairs at two addresses",
     ADDRESS VALUES "ds_write2_b64 v6, v[8:9], v[10:11] offset1:1\n" WAIT
                    "ds_read2_b64 v[12:15], v6 offset1:1\n" WAIT STORE("v15"),
     last, NULL},
    {"four dwords, the last over the address",
     ADDRESS VALUES "ds_write_b128 v6, v[8:11]\n" WAIT "v_mov_b32 v15, v6\n"
                    "ds_read_b128 v[12:15], v15\n" WAIT STORE("v15"),
     last, NULL},
    {"four dwords, the first over the address",
     ADDRESS VALUES "ds_write_b128 v6, v[8:11]\n" WAIT "v_mov_b32 v12, v6\n"
                    "ds_read_b128 v[12:15], v12\n" WAIT STORE("v15"),
     last, NULL},
    {"two dwords, the first over the address",
     ADDRESS VALUES "ds_write_b64 v6, v[8:9]\n" WAIT "v_mov_b32 v12, v6\n"
                    "ds_read_b64 v[12:13], v12\n" WAIT STORE("v13"),
     second, NULL},
    {"negative LDS addresses and an offset",
     ADDRESS VALUES "v_add_u32 v6, 0xfffffc00, v6\nds_write_b128 v6, v[8:11] offset:1024\n" WAIT
                    "ds_read_b128 v[12:15], v6 offset:1024\n" WAIT STORE("v15"),
     last, NULL},
    {"an LDS read of the last lane ends 4 bytes too late",
     ADDRESS "ds_read_b128 v[12:15], v6 offset:4\n", NULL,
     "LDS read of 16 bytes at offset 1012, the workgroup has 1024 bytes"},
    {"an LDS write of the last lane does", ADDRESS VALUES "ds_write_b128 v6, v[8:11] offset:4\n",
     NULL, "LDS write of 16 bytes at offset 1012, the workgroup has 1024 bytes"},
    {"a load of the last lane leaves its allocation",
     ADDRESS "global_load_dwordx4 v[12:15], v6, s[2:3] offset:3076\n", NULL, "read of 16 bytes"},
    {"a store of the last lane does",
     ADDRESS VALUES "global_store_dwordx4 v6, v[8:11], s[2:3] offset:3076\n", NULL,
     "write of 16 bytes"},
    {"four dwords of device memory",
     ADDRESS "global_load_dwordx4 v[12:15], v6, s[2:3]\n" STORE("v15"), last, NULL},
    {"64-bit addresses",
     ADDRESS "v_mov_b32 v7, s3\nv_mov_b32 v16, s2\nv_or_b32 v6, v16, v6\n"
             "global_load_dwordx4 v[12:15], v[6:7], off\n" STORE("v15"),
     last, NULL},
    {"a buffer that holds all lanes",
     ADDRESS BUFFER(1024) "buffer_load_dwordx4 v[12:15], v6, s[8:11], 0 offen\n" STORE("v15"), last,
     NULL},
    {"a buffer that ends in the last lane's dwords",
     ADDRESS BUFFER(1020) "buffer_load_dwordx4 v[12:15], v6, s[8:11], 0 offen\n" STORE("v15"),
     last_but_one_item, NULL},
    {"a buffer that holds half of the lanes",
     ADDRESS BUFFER(512) "buffer_load_dwordx4 v[12:15], v6, s[8:11], 0 offen\n" STORE("v15"),
     first_half, NULL},
    {"a buffer that ends where the first lane begins",
     ADDRESS VALUES "v_mov_b32 v15, 1\n" BUFFER(
         512) "buffer_load_dwordx4 v[12:15], v6, s[8:11], 0 offen offset:512\n" STORE("v15"),
     nothing, NULL},
    {"v_perm_b32 of plain bytes",
     "v_add_u32 v6, 0x01020304, v0\nv_mov_b32 v7, 0x11223344\ns_mov_b32 s12, 0x06000403\n"
     "v_perm_b32 v8, v6, v7, s12\n" STORE("v8"),
     permuted, NULL},
};

static const char *last_dword(const char *gpu)
{
    return asm_is_wide(gpu) ? "0x27000" : "0x31016000";
}

int main(void)
{
    return asm_check_programs(programs, sizeof programs / sizeof *programs, 4, last_dword);
}
