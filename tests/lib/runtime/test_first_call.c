/*
 * The first call of a kernel makes few system calls: a child process runs it between two markers,
 * and this one counts by ptrace.
 */
#include "aothip/aothip.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_hip.h"
#include "make_image.h"
#include "fake_problem.h"
#include "tap.h"

/* A sanitizer's allocator maps memory where the usual one has some. */
enum { MOST_CALLS = TAP_SANITIZED ? 50 : 10 };
enum { MARKER = SYS_getppid, GOOD = 42 };

static void mark(void)
{
    syscall(MARKER);
}

/* Markers stand before and after a first call, a first call of another kernel, and a warm call. */
static void run_child(const char *directory)
{
    struct aothip_attn_fwd_params p = problem_make();
    struct aothip_context *context;
    int good = aothip_open(directory, &context) == AOTHIP_OK;
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
        _exit(errno == EPERM ? 77 : 1);
    raise(SIGSTOP);
    mark();
    good &= aothip_attn_fwd(context, &p, NULL) == AOTHIP_OK;
    mark();
    p.softcap = 30;
    good &= aothip_attn_fwd(context, &p, NULL) == AOTHIP_OK;
    mark();
    good &= aothip_attn_fwd(context, &p, NULL) == AOTHIP_OK;
    mark();
    _exit(good ? GOOD : 1);
}

/* Runs the child to its end; calls[i] are the system calls after marker i. Its exit status. */
static int count_calls(pid_t child, int calls[5])
{
    int status, marker = 0, entering = 1;
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
            struct __ptrace_syscall_info info;
            if (entering &&
                ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof(info), (void *)&info) > 0) {
                if (info.entry.nr == MARKER)
                    marker += marker < 4;
                else
                    calls[marker]++;
            }
            entering = !entering;
        }
        ptrace(PTRACE_SYSCALL, child, NULL, NULL);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
    struct make_image image = make_image("gfx942", NULL);
    char directory[256];
    int calls[5] = {0}, status = 0, result;
    pid_t child;
    make_directory(directory);
    make_image_write(&image, directory, "gfx942");
    free(image.bytes);
    child = fork();
    if (child == 0)
        run_child(directory);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
        remove_directory(directory);
        tap_skip_all("this system does not allow ptrace");
    }
    ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_TRACESYSGOOD);
    ptrace(PTRACE_SYSCALL, child, NULL, NULL);
    result = count_calls(child, calls);
    is_int(result, GOOD, "the child's calls succeed");
    ok(calls[1] >= 3 && calls[1] <= MOST_CALLS, "a first call makes %d system calls, at most %d",
       calls[1], MOST_CALLS);
    ok(calls[2] <= MOST_CALLS, "another kernel's first call makes %d", calls[2]);
    is_int(calls[3], 0, "a warm call makes none");
    remove_directory(directory);
    return tap_done();
}
