/*
 * Says what happened when the HIP runtime ends the program: AMD's does so, up to HIP 6.4, when a
 * GPU reports that a kernel went wrong, after a line of its own; and it crashes without a word when
 * a code object is damaged or lacks its symbol table.
 */
#include "runtime_abort.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char ended[1024], crashed[1024];

/* The text is ready: in a handler hardly anything may be called. */
static void explain(int number)
{
    const char *text = number == SIGSEGV ? crashed : ended;
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        _exit(1);
    signal(number, SIG_DFL);
}

/* Others have a use for bad accesses: sanitizers, and the driver's stand-in in strict mode. */
static int is_ours(int number)
{
#ifdef SA_SIGINFO
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
           (now.sa_handler == SIG_DFL || now.sa_handler == explain);
#else /* no handler there can be told from another */
    (void)number;
    return 1;
#endif
}

void runtime_abort_in(int device, int number)
{
    snprintf(ended, sizeof(ended),
             "\naothip-check: the HIP runtime ended the program, in case %d on device %d; what it "
             "said stands above.\n"
             "  Memory access fault: a kernel touched memory that is not there.\n"
             "  GPU Hang: a kernel did not end, or the driver reset the GPU; dmesg says more.\n"
             "  HSA_STATUS_ERROR: the GPU refused a launch, or a kernel stopped by itself.\n"
             "With AOTHIP_CAPTURE=DIRECTORY the launch is kept, and aothip-replay --emulate runs "
             "it, with the instruction.\nPlease report the lines above, the GPU and ROCm.\n",
             number, device);
    snprintf(
        crashed, sizeof(crashed),
        "\naothip-check: a crash in case %d on device %d, most likely in the HIP runtime: AMD's "
        "crashes when a code\nobject is damaged, or has no symbol table. aothip-images verify "
        "says whether the images are whole.\nPlease report this, the GPU and ROCm.\n",
        number, device);
    signal(SIGABRT, explain);
    if (is_ours(SIGSEGV))
        signal(SIGSEGV, explain);
}
