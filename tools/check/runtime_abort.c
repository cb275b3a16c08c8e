/*
 * Says what happened when the HIP runtime ends the program: AMD's does so, up to HIP 6.4, when a
 * GPU reports that a kernel went wrong, after a line of its own.
 */
#include "runtime_abort.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char text[1024];

/* The text is ready: in a handler hardly anything may be called. */
static void explain(int number)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        _exit(1);
    signal(number, SIG_DFL);
}

void runtime_abort_in(int device, int number)
{
    snprintf(text, sizeof(text),
             "\naothip-check: the HIP runtime ended the program, in case %d on device %d; what it "
             "said stands above.\n"
             "  Memory access fault: a kernel touched memory that is not there.\n"
             "  GPU Hang: a kernel did not end, or the driver reset the GPU; dmesg says more.\n"
             "  HSA_STATUS_ERROR: the GPU refused a launch, or a kernel stopped by itself.\n"
             "With AOTHIP_CAPTURE=DIRECTORY the launch is kept, and aothip-replay --emulate runs "
             "it, with the instruction.\nPlease report the lines above, the GPU and ROCm.\n",
             number, device);
    signal(SIGABRT, explain);
}
