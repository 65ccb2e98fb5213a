/* SPDX-License-Identifier: Apache-2.0 */
#include <collage/collage.h>

const char *collage_version(void)
{
#define TEXT_OF(x)            #x
#define VERSION_TEXT(a, b, c) TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)
    return VERSION_TEXT(COLLAGE_VERSION_MAJOR, COLLAGE_VERSION_MINOR, COLLAGE_VERSION_PATCH);
#undef VERSION_TEXT
#undef TEXT_OF
}
