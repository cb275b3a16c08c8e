/*
 * Runs a program on Windows in circumstances that a shell here cannot make:
 * "hold FILE PROGRAM..." while FILE is open and shared with nobody, and returns what it does;
 * "interrupt PROGRAM..." sends it Ctrl-C after its first words to standard error, and prints how it
 * ended.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>

/* The rest of this program's own command line, from argument `skip` on. */
static wchar_t *rest_of(int skip)
{
    wchar_t *at = GetCommandLineW();
    for (; skip; skip--) {
        const wchar_t end = *at == L'"' ? L'"' : L' ';
        at = wcschr(at + 1, end);
        if (!at)
            exit(99);
        at++;
        at += wcsspn(at, L" ");
    }
    return at;
}

static int fail(const char *what)
{
    fprintf(stderr, "%s: error %lu\n", what, GetLastError());
    return 99;
}

/* Its exit code; `said`: what it says goes there, and the first of it gets Ctrl-C for an answer. */
static DWORD run(wchar_t *command, HANDLE *said)
{
    STARTUPINFOW start = {.cb = sizeof(start), .dwFlags = STARTF_USESTDHANDLES};
    SECURITY_ATTRIBUTES inherited = {sizeof(inherited), NULL, TRUE};
    PROCESS_INFORMATION made;
    HANDLE theirs = NULL;
    DWORD code = 99, had;
    char text[512];
    start.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
    start.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
    start.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    if (said) {
        if (!CreatePipe(said, &theirs, &inherited, 0))
            return fail("CreatePipe");
        start.hStdError = theirs;
    }
    if (!CreateProcessW(NULL, command, NULL, NULL, TRUE, 0, NULL, NULL, &start, &made))
        return fail("CreateProcess");
    if (said) {
        CloseHandle(theirs);
        if (ReadFile(*said, text, sizeof(text), &had, NULL) &&
            !GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0))
            fail("GenerateConsoleCtrlEvent");
        while (ReadFile(*said, text, sizeof(text), &had, NULL))
            ;
    }
    WaitForSingleObject(made.hProcess, INFINITE);
    GetExitCodeProcess(made.hProcess, &code);
    return code;
}

static BOOL WINAPI survive(DWORD event)
{
    return event == CTRL_C_EVENT;
}

int wmain(int argc, wchar_t **argv)
{
    HANDLE said;
    if (argc > 3 && !wcscmp(argv[1], L"hold")) {
        if (CreateFileW(argv[2], GENERIC_READ, 0, NULL, OPEN_EXISTING, 0, NULL) ==
            INVALID_HANDLE_VALUE)
            return fail("CreateFile");
        return (int)run(rest_of(3), NULL);
    }
    if (argc > 2 && !wcscmp(argv[1], L"interrupt")) {
        SetConsoleCtrlHandler(survive, TRUE);
        printf("exit code %#lx\n", run(rest_of(2), &said));
        return 0;
    }
    return 99;
}
