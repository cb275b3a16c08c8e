/* Starts Python on Windows. */
#include "python.h"

#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <wchar.h>
#include <windows.h>

#include "wide_windows.h"

const char python_name[] = "python";

enum { PATH_ROOM = 32768, MINUTES = 5 };

/* One variable as it was, for the child to get another: it inherits what this process has. */
struct saved {
    const wchar_t *name;
    wchar_t *value; /* NULL: it was not set */
};

static struct saved set_variable(const wchar_t *name, const wchar_t *value)
{
    struct saved saved = {name, NULL};
    wchar_t *was = malloc(PATH_ROOM * sizeof(wchar_t));
    SetLastError(ERROR_SUCCESS);
    if (was && (GetEnvironmentVariableW(name, was, PATH_ROOM) || GetLastError() == ERROR_SUCCESS))
        saved.value = was;
    else
        free(was);
    SetEnvironmentVariableW(name, value);
    return saved;
}

static void restore_variable(struct saved *saved)
{
    SetEnvironmentVariableW(saved->name, saved->value);
    free(saved->value);
}

/* Python's file by PATH alone: Windows would look into the current directory first. */
static wchar_t *find_python(void)
{
    wchar_t *path = malloc(PATH_ROOM * sizeof(wchar_t)),
            *file = malloc(PATH_ROOM * sizeof(wchar_t));
    DWORD length = path && file ? GetEnvironmentVariableW(L"PATH", path, PATH_ROOM) : 0;
    if (length > 0 && length < PATH_ROOM)
        length = SearchPathW(path, L"python.exe", NULL, PATH_ROOM, file, NULL);
    free(path);
    if (length > 0 && length < PATH_ROOM)
        return file;
    free(file);
    return NULL;
}

/* python -c "SCRIPT", which has no double quotes, and so needs no marks before them. */
static wchar_t *command_of(const wchar_t *script)
{
    const size_t room = wcslen(script) + 32;
    wchar_t *command = malloc(room * sizeof(wchar_t));
    if (command)
        swprintf(command, room, L"python -c \"%ls\"", script);
    return command;
}

static HANDLE start(const wchar_t *file, wchar_t *command, HANDLE output, HANDLE nowhere)
{
    STARTUPINFOW how = {.cb = sizeof(how), .dwFlags = STARTF_USESTDHANDLES};
    PROCESS_INFORMATION process;
    how.hStdInput = nowhere;
    how.hStdOutput = output;
    how.hStdError = nowhere;
    if (!CreateProcessW(file, command, NULL, NULL, TRUE, 0, NULL, NULL, &how, &process))
        return NULL;
    CloseHandle(process.hThread);
    return process.hProcess;
}

static void CALLBACK stop_late(void *process, BOOLEAN late)
{
    if (late)
        TerminateProcess(process, 1);
}

/* The child's end of the pipe, and what it gets for the rest, are its to inherit. */
static void start_with(struct python *python, const wchar_t *file, wchar_t *command)
{
    SECURITY_ATTRIBUTES inherited = {sizeof(inherited), NULL, TRUE};
    HANDLE reads = NULL, writes = NULL, child = NULL, watch = NULL, nowhere;
    int number;
    if (!CreatePipe(&reads, &writes, &inherited, 0))
        return;
    SetHandleInformation(reads, HANDLE_FLAG_INHERIT, 0);
    nowhere = CreateFileW(L"NUL", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                          &inherited, OPEN_EXISTING, 0, NULL);
    child = start(file, command, writes, nowhere);
    CloseHandle(writes);
    CloseHandle(nowhere);
    number = child ? _open_osfhandle((intptr_t)reads, _O_RDONLY) : -1;
    python->output = number >= 0 ? _fdopen(number, "r") : NULL;
    if (number < 0)
        CloseHandle(reads);
    else if (!python->output)
        _close(number);
    if (child)
        RegisterWaitForSingleObject(&watch, child, stop_late, child, MINUTES * 60000,
                                    WT_EXECUTEONLYONCE);
    python->process = (intptr_t)child;
    python->watch = (intptr_t)watch;
}

void python_start(struct python *python, const char *script, const char *path)
{
    wchar_t *wide = wide_from(script), *places = path ? wide_from(path) : NULL;
    wchar_t *file = find_python(), *command = wide ? command_of(wide) : NULL;
    struct saved encoding = {NULL, NULL}, modules = {NULL, NULL};
    *python = (struct python){NULL, 0, 0};
    if (file && command) {
        encoding = set_variable(L"PYTHONIOENCODING", L"utf-8");
        if (places)
            modules = set_variable(L"PYTHONPATH", places);
        start_with(python, file, command);
        if (places)
            restore_variable(&modules);
        restore_variable(&encoding);
    }
    free(command);
    free(file);
    free(places);
    free(wide);
}

int python_end(struct python *python, char *why, size_t room)
{
    // NOLINTNEXTLINE(performance-no-int-to-ptr): they were handles
    HANDLE process = (HANDLE)python->process, watch = (HANDLE)python->watch;
    DWORD status = 0;
    if (python->output)
        fclose(python->output);
    if (!process)
        return 0;
    WaitForSingleObject(process, INFINITE);
    GetExitCodeProcess(process, &status);
    if (watch)
        UnregisterWaitEx(watch, INVALID_HANDLE_VALUE);
    CloseHandle(process);
    if (status)
        snprintf(why, room, status > 255 ? "ended with status 0x%lx" : "ended with status %lu",
                 status);
    return status ? -1 : 0;
}
