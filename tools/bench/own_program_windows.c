/* Starts this program once more on Windows. */
#include "own_program.h"

#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "wide_windows.h"

enum { ROOM = 32768 }; /* of a path, and of a command line */

/* " ARGUMENT" in quotes, with backslashes before the closing one doubled; ours hold no quotes. */
static void add(wchar_t *command, const wchar_t *argument)
{
    size_t length = wcslen(argument), backslashes = 0;
    if (wcslen(command) + 2 * length + 4 > ROOM)
        return;
    while (backslashes < length && argument[length - 1 - backslashes] == L'\\')
        backslashes++;
    wcscat(wcscat(wcscat(command, L" \""), argument), argument + length - backslashes);
    wcscat(command, L"\"");
}

static wchar_t *command_of(const wchar_t *file, char *const *arguments)
{
    wchar_t *command = calloc(ROOM, sizeof(*command));
    if (command)
        add(command, file);
    for (int i = 1; command && arguments[i]; i++) {
        wchar_t *wide = wide_from(arguments[i]);
        if (wide)
            add(command, wide);
        free(wide);
    }
    return command;
}

int own_program_start(struct own_program *run, char *const *arguments)
{
    wchar_t *file = malloc(ROOM * sizeof(*file)), *command = NULL, *shell = NULL;
    run->output = NULL;
    if (file && GetModuleFileNameW(NULL, file, ROOM) < ROOM)
        command = command_of(file, arguments);
    if (command)
        shell = malloc((wcslen(command) + 16) * sizeof(*shell));
    if (shell) { /* which takes the outer quotes away */
        wcscat(wcscat(wcscpy(shell, L"\""), command), L" 2>NUL\"");
        run->output = _wpopen(shell, L"rb");
    }
    free(shell);
    free(command);
    free(file);
    return run->output ? 0 : -1;
}

int own_program_end(struct own_program *run)
{
    return _pclose(run->output) ? -1 : 0;
}
