/*
 * Clang offload bundles, as clang-offload-bundler writes them for HIP (LLVM's documentation, "Clang
 * Offload Bundler"): starting it costs more than all it does.
 */
#ifndef AOTHIP_WRITE_BUNDLE_H
#define AOTHIP_WRITE_BUNDLE_H

#define BUNDLE_MAGIC "__CLANG_OFFLOAD_BUNDLE__"
#define BUNDLE_KIND "hipv4-amdgcn-amd-amdhsa--" /* before a target ID */

/*
 * Writes a bundle of code objects to `file`: each part is TARGET=FILE, in the order wanted. Code
 * objects begin at multiples of 256 bytes. Returns 0, or -1 after printing why to stderr; the file
 * is then as it was.
 */
int bundle_write(const char *file, char *const *parts, int count);

#endif
