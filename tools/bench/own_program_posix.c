/* Starts this program once more on POSIX systems. */
#include "own_program.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int own_program_start(struct own_program *run, char *const *arguments)
{
    posix_spawn_file_actions_t actions;
    int ends[2], error;
    pid_t process = 0;

    if (pipe(ends))
        return -1;
    error = posix_spawn_file_actions_init(&actions);
    if (!error) {
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1, 0);
        posix_spawn_file_actions_addclose(&actions, ends[0]);
        posix_spawn_file_actions_addclose(&actions, ends[1]);
        error = posix_spawn(&process, "/proc/self/exe", &actions, NULL, arguments, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    run->output = error ? NULL : fdopen(ends[0], "r");
    run->process = process;
    if (run->output)
        return 0;
    close(ends[0]);
    if (!error)
        waitpid(process, NULL, 0);
    return -1;
}

int own_program_end(struct own_program *run)
{
    int status = -1;
    fclose(run->output);
    waitpid((pid_t)run->process, &status, 0);
    return status ? -1 : 0;
}
