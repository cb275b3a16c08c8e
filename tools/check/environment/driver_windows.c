/* The display driver, the HIP runtimes it and others bring, and rights of files, on Windows. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

/* these want windows.h in front */
#include <aclapi.h>
#include <winver.h>

#include "loader.h"
#include "wide_windows.h"

enum { ROOM = 1024, PATH_ROOM = 32768 };

/* A text value of a key of the registry, in UTF-8; "" if it is not there. */
static const char *read_value(HKEY key, const wchar_t *name, char text[ROOM])
{
    wchar_t wide[ROOM / 4];
    DWORD size = sizeof(wide);
    char *found = NULL;
    *text = '\0';
    if (!RegGetValueW(key, NULL, name, RRF_RT_REG_SZ | RRF_RT_REG_MULTI_SZ, NULL, wide, &size))
        found = wide_to(wide);
    if (found)
        snprintf(text, ROOM, "%s", found);
    free(found);
    return text;
}

/* "31.0.24027.1012" of a DLL; "" if it has none. */
static void read_version(const wchar_t *file, char text[64])
{
    const DWORD size = GetFileVersionInfoSizeW(file, NULL);
    void *block = size ? malloc(size) : NULL;
    VS_FIXEDFILEINFO *info = NULL;
    UINT length = 0;
    *text = '\0';
    if (block && GetFileVersionInfoW(file, 0, size, block) &&
        VerQueryValueW(block, L"\\", (void **)&info, &length) && length >= sizeof(*info))
        snprintf(text, 64, "%u.%u.%u.%u", HIWORD(info->dwFileVersionMS),
                 LOWORD(info->dwFileVersionMS), HIWORD(info->dwFileVersionLS),
                 LOWORD(info->dwFileVersionLS));
    free(block);
}

/* Adapters stand below the class of displays, one key each; PCI vendor 1002 is AMD. */
static int look_at_adapters(struct env_report *report)
{
    static const wchar_t class[] =
        L"SYSTEM\\CurrentControlSet\\Control\\Class\\{4d36e968-e325-11ce-bfc1-08002be10318}";
    char id[ROOM], name[ROOM], version[ROOM];
    wchar_t key_name[64];
    HKEY adapters, adapter;
    int found = 0;
    if (RegOpenKeyExW(HKEY_LOCAL_MACHINE, class, 0, KEY_READ, &adapters))
        return 0;
    for (DWORD i = 0, length = 64;
         !RegEnumKeyExW(adapters, i, key_name, &length, NULL, NULL, NULL, NULL); i++, length = 64) {
        if (RegOpenKeyExW(adapters, key_name, 0, KEY_READ, &adapter))
            continue;
        read_value(adapter, L"MatchingDeviceId", id);
        for (char *at = id; *at; at++)
            if (*at >= 'a' && *at <= 'z')
                *at = (char)(*at - 'a' + 'A');
        if (strstr(id, "VEN_1002")) {
            found++;
            read_value(adapter, L"DriverDesc", name);
            read_value(adapter, L"DriverVersion", version);
            env_add(report, ENV_OK, "driver", NULL, "%s, version %s of its driver",
                    *name ? name : id, *version ? version : "unknown");
        }
        RegCloseKey(adapter);
    }
    RegCloseKey(adapters);
    return found;
}

/* Where Windows' search order, and then PATH, has the runtimes that the library asks for. */
static void look_at_runtimes(struct env_report *report)
{
    wchar_t *path = malloc(PATH_ROOM * sizeof(wchar_t));
    int found = 0;
    for (const char *const *name = loader_hip_names; path && *name; name++) {
        wchar_t *wide = wide_from(*name);
        DWORD length = wide ? SearchPathW(NULL, wide, NULL, PATH_ROOM, path, NULL) : 0;
        char *file = length && length < PATH_ROOM ? wide_to(path) : NULL, version[64];
        if (file) {
            read_version(path, version);
            env_add(report, ENV_OK, "HIP", NULL, "%s, version %s", file,
                    *version ? version : "unknown");
            found++;
        }
        free(file);
        free(wide);
    }
    free(path);
    if (!found)
        env_add(report, ENV_WARN, "HIP",
                "Install AMD's display driver, which brings one, or the HIP SDK; a torch for ROCm "
                "brings its own.",
                "%s: none of them is on the search path", loader_hip_names_told);
}

void env_look_at_driver(struct env_report *report, const char *root)
{
    (void)root; /* Windows' registry is one */
    if (!look_at_adapters(report))
        env_add(report, ENV_FAIL, "driver", "Install AMD's display driver (Adrenalin).",
                "Windows knows no GPU of AMD with a driver");
    look_at_runtimes(report);
}

void env_look_at_rights(struct env_report *report, const char *directory)
{
    BYTE sid[SECURITY_MAX_SID_SIZE];
    DWORD size = sizeof(sid);
    wchar_t *wide = wide_from(directory);
    PSECURITY_DESCRIPTOR whole = NULL;
    ACCESS_MASK rights = 0;
    TRUSTEE_W everybody;
    PACL list = NULL;
    if (wide && CreateWellKnownSid(WinWorldSid, NULL, sid, &size) &&
        !GetNamedSecurityInfoW(wide, SE_FILE_OBJECT, DACL_SECURITY_INFORMATION, NULL, NULL, &list,
                               NULL, &whole) &&
        list) {
        BuildTrusteeWithSidW(&everybody, sid);
        if (!GetEffectiveRightsFromAclW(list, &everybody, &rights) && rights & FILE_ADD_FILE)
            env_add(report, ENV_WARN, "images", "Take that right away from Everyone.",
                    "everybody may write in %s, and so decide what runs on your GPU", directory);
    }
    if (whole)
        LocalFree(whole);
    free(wide);
}
