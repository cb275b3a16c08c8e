/* Starts Python on POSIX systems. */
#include "python.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

const char python_name[] = "python3";

static void become_python(int output, const char *script, const char *path)
{
    if (path && setenv("PYTHONPATH", path, 1))
        _exit(126);
    alarm(300); /* the first call may compile or load for a while, but not for ever */
    dup2(output, STDOUT_FILENO);
    if (!freopen("/dev/null", "w", stderr))
        _exit(126);
    execlp(python_name, python_name, "-c", script, (char *)NULL);
    _exit(127);
}

void python_start(struct python *python, const char *script, const char *path)
{
    int ends[2];
    pid_t child;
    *python = (struct python){NULL, -1, 0};
    if (pipe(ends))
        return;
    child = fork();
    if (child == 0) {
        close(ends[0]);
        become_python(ends[1], script, path);
    }
    close(ends[1]);
    if (child > 0)
        python->output = fdopen(ends[0], "r");
    if (!python->output)
        close(ends[0]);
    python->process = child;
}

int python_end(struct python *python, char *why, size_t room)
{
    int status = 0;
    if (python->output)
        fclose(python->output);
    if (python->process <= 0 ||
        waitpid((pid_t)python->process, &status, 0) != (pid_t)python->process || !status)
        return 0;
    if (WIFSIGNALED(status))
        snprintf(why, room, "was ended by signal %d", WTERMSIG(status));
    else
        snprintf(why, room, "ended with status %d", WEXITSTATUS(status));
    return -1;
}
