/* Starts a program on Windows: its arguments in UTF-8, its output as it is on other systems. */
#define AOTHIP_PROGRAM_MINGW
#include "posix_mingw.h"

#include <windows.h>

/* which needs windows.h in front */
#include <shellapi.h>

#include "wide_windows.h"

int program_main(int argc, char **argv);

/* The console as it was. */
static HANDLE console;
static UINT page_before;
static DWORD mode_before;
static BOOL mode_known;

static void restore_console(void)
{
    if (page_before)
        SetConsoleOutputCP(page_before);
    if (mode_known)
        SetConsoleMode(console, mode_before);
}

void posix_interrupted(void)
{
    restore_console();
    ExitProcess(STATUS_CONTROL_C_EXIT);
}

/* As Windows would end the program. */
static BOOL WINAPI stop(DWORD event)
{
    if (event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT)
        posix_interrupted();
    return FALSE;
}

/* UTF-8, and what the progress line erases itself with, where the console can. */
static void prepare_console(void)
{
    console = GetStdHandle(STD_ERROR_HANDLE);
    page_before = GetConsoleOutputCP();
    mode_known = GetConsoleMode(console, &mode_before);
    if (page_before)
        SetConsoleOutputCP(CP_UTF8);
    if (mode_known)
        SetConsoleMode(console, mode_before | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    atexit(restore_console);
    SetConsoleCtrlHandler(stop, TRUE);
}

#undef main
int main(void)
{
    int argc = 0;
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &argc);
    char **argv = calloc((size_t)argc + 1, sizeof(*argv));
    if (!wide || !argv)
        return 3;
    for (int i = 0; i < argc; i++)
        if (!(argv[i] = wide_to(wide[i])))
            return 3;
    LocalFree(wide);
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
    _setmode(_fileno(stderr), _O_BINARY);
    prepare_console();
    return program_main(argc, argv);
}
