/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_text.h"

#include "base/printable.h"

json_t *json_text(const char *text)
{
    const unsigned char *at = (const unsigned char *)(text ? text : "");
    struct text clean = { 0 };
    text_string(&clean, "");
    while (*at) {
        const unsigned char *begin = at;
        if (printable_take(&at) == PRINTABLE_NO_CHARACTER)
            text_string(&clean, "\xef\xbf\xbd");
        else
            text_append(&clean, (const char *)begin, (size_t)(at - begin));
    }
    json_t *json = clean.failed ? NULL : json_stringn(clean.bytes, clean.count);
    text_free(&clean);
    return json;
}

static int append(const char *bytes, size_t count, void *user)
{
    text_append(user, bytes, count);
    return 0; /* the text remembers that it failed */
}

static void put_escaped(uint32_t c, struct text *out)
{
    if (c >= 0x10000)
        text_format(out, "\\u%04x\\u%04x", 0xd800u + ((c - 0x10000) >> 10),
                    0xdc00u + ((c - 0x10000) & 0x3ffu));
    else
        text_format(out, "\\u%04x", c);
}

/* Outside of strings JSON is printable ASCII and line ends; controls in strings are escaped. */
static void put_harmless(const char *dumped, struct text *out)
{
    const unsigned char *at = (const unsigned char *)dumped;
    while (*at) {
        const unsigned char *begin = at, *shown = at;
        const uint32_t c = printable_take(&at);
        if (c == '\n' || c == '?' || printable_take_shown(&shown) != '?')
            text_append(out, (const char *)begin, (size_t)(at - begin));
        else
            put_escaped(c, out);
    }
    text_string(out, "\n");
}

bool json_put(const json_t *json, size_t flags, struct text *out)
{
    struct text dumped = { 0 };
    const bool fine =
        json && json_dump_callback(json, append, &dumped, flags) == 0 && !dumped.failed;
    if (fine)
        put_harmless(dumped.bytes ? dumped.bytes : "", out);
    text_free(&dumped);
    return fine && !out->failed;
}
