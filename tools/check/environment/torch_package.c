/* What every system's torch package has: names of files, what is in them, images. */
#include "torch_package.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

int torch_find_file(const char *directory, const char *prefix, char path[TORCH_PATH])
{
    char best[TORCH_PATH] = "";
    struct dirent *entry;
    DIR *d = opendir(directory);

    while (d && (entry = readdir(d)))
        if (!strncmp(entry->d_name, prefix, strlen(prefix)) &&
            (!*best || strcmp(entry->d_name, best) < 0))
            snprintf(best, sizeof(best), "%s", entry->d_name);
    if (d)
        closedir(d);
    if (!*best || snprintf(path, TORCH_PATH, "%s/%s", directory, best) >= TORCH_PATH)
        return -1;
    return 0;
}

int torch_is_ours(const char *library)
{
    static const char text[] = "AOTHIP_IMAGES";
    const size_t length = strlen(text);
    size_t used = 0, n;
    char block[1 << 16];
    FILE *f = fopen(library, "rb");
    int found = 0;

    while (f && !found && !feof(f) && !ferror(f)) {
        n = fread(block + used, 1, sizeof(block) - used, f);
        used += n;
        found = memmem(block, used, text, length) != NULL;
        if (used >= length) { /* what is at the end may be the beginning of it */
            memmove(block, block + used - length + 1, length - 1);
            used = length - 1;
        }
    }
    if (f)
        fclose(f);
    return found;
}

void torch_look_at_images(struct env_report *report, const char *lib)
{
    char path[TORCH_PATH + sizeof("/aotriton.images")], names[ENV_TEXT_MAX / 2] = "";
    struct dirent *entry;
    size_t used = 0;
    DIR *d;

    snprintf(path, sizeof(path), "%s/aotriton.images", lib);
    d = opendir(path);
    while (d && (entry = readdir(d)) && used < sizeof(names))
        if (!strncmp(entry->d_name, "amd-", 4))
            used += (size_t)snprintf(names + used, sizeof(names) - used, " %s", entry->d_name + 4);
    if (d)
        closedir(d);
    if (*names) {
        env_add(report, ENV_OK, "torch", NULL, "images for%s", names);
        env_miss_gpus(report, "torch", "torch's libaotriton", names);
    } else {
        env_add(report, ENV_FAIL, "torch",
                "Copy lib/aotriton.images of the same build to where the library is.",
                "%s holds no images", path);
    }
}
