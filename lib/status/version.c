/* The version of the library. */
#include "aothip/aothip.h"

#define TEXT_OF(number) #number
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *aothip_version(void)
{
    return VERSION_TEXT(AOTHIP_VERSION_MAJOR, AOTHIP_VERSION_MINOR, AOTHIP_VERSION_PATCH);
}
