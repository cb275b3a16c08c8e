/*
 * Strict mode has to know which memory of a GPU was ever written. What comes in copies is seen;
 * what the host writes by itself, as AMD's HIP does with variables of modules, is found out by
 * pages: the host's view is read-only until it writes, and then the page counts as written.
 */
#include "kfd.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "memory_map.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct sigaction before;

/* False: it is not about memory of ours. */
static bool open_page(uint64_t address)
{
    struct emu_block b;
    if (!emu_mem_query(address, &b) || !b.init || b.kind != EMU_BLOCK_DEVICE)
        return false;
    uint64_t at = (address - b.base) / KFD_PAGE * KFD_PAGE;
    uint64_t n = b.size - at < KFD_PAGE ? b.size - at : KFD_PAGE;
    if (mprotect((void *)(uintptr_t)(b.base + at), KFD_PAGE, PROT_READ | PROT_WRITE) != 0)
        return false;
    memset(b.init + at, 0xff, n);
    return true;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    if (info->si_code == SEGV_ACCERR && open_page((uint64_t)(uintptr_t)info->si_addr))
        return;
    /* Somebody else's: theirs to handle, or to die of when the instruction runs again. */
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(number);
    else
        sigaction(SIGSEGV, &before, NULL);
}

static void watch(void)
{
    struct sigaction a = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigemptyset(&a.sa_mask);
    sigaction(SIGSEGV, &a, &before);
}

bool kfd_show_host(uint64_t address, uint64_t size, int file, uint64_t offset)
{
    pthread_once(&once, watch);
    return mmap((void *)(uintptr_t)address, size, PROT_READ, MAP_SHARED | MAP_FIXED, file,
                (off_t)offset) != MAP_FAILED;
}
