/* Starts a program on Windows: its arguments in UTF-8, its output as it is on other systems. */
#define AOTHIP_PROGRAM_MINGW
#include "posix_mingw.h"

#include <windows.h>

/* which needs windows.h in front */
#include <shellapi.h>

#include "wide_windows.h"

int program_main(int argc, char **argv);

static UINT page_before;

static void restore_console(void)
{
    SetConsoleOutputCP(page_before);
}

/* The program ends as it would without this, but leaves the console as it was. */
static BOOL WINAPI stop(DWORD event)
{
    (void)event;
    restore_console();
    return FALSE;
}

/* UTF-8, and what the progress line erases itself with, where the console can. */
static void prepare_console(void)
{
    HANDLE console = GetStdHandle(STD_ERROR_HANDLE);
    DWORD mode;
    page_before = GetConsoleOutputCP();
    if (page_before) {
        SetConsoleOutputCP(CP_UTF8);
        atexit(restore_console);
        SetConsoleCtrlHandler(stop, TRUE);
    }
    if (GetConsoleMode(console, &mode))
        SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
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
