/*
 * Include after <dlfcn.h>. glibc 2.34 moved these functions from libdl into libc under new versions;
 * asked for by their old ones, and with libdl among what is needed, a library built there also runs
 * with glibc 2.28. On other processors the old versions have other names, and nothing is done.
 */
#ifndef AOTHIP_OLD_GLIBC_H
#define AOTHIP_OLD_GLIBC_H

#if defined(__x86_64__) && defined(__GLIBC__)
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
__asm__(".symver dlclose,dlclose@GLIBC_2.2.5");
__asm__(".symver dlerror,dlerror@GLIBC_2.2.5");
__asm__(".symver dladdr,dladdr@GLIBC_2.2.5");
#endif

#endif
