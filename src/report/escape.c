/* SPDX-License-Identifier: Apache-2.0 */
#include "report/escape.h"

#include <string.h>

#include "base/printable.h"

enum { REPLACEMENT = PRINTABLE_NO_CHARACTER };

struct range {
    uint32_t first, last;
};

/* Controls; invisible characters; those that turn the direction; noncharacters. */
static const struct range hidden[] = {
    { 0x00, 0x1f },     { 0x7f, 0x9f },     { 0xad, 0xad },     { 0x61c, 0x61c },
    { 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0xfe00, 0xfe0f },
    { 0xfeff, 0xfeff }, { 0xfff0, 0xfffb }, { 0xfffe, 0xffff }, { 0xe0000, 0x10ffff },
};

static uint32_t shown_character(const unsigned char **at)
{
    uint32_t c = printable_take(at);
    for (size_t k = 0; k < sizeof hidden / sizeof hidden[0]; k++)
        if (c >= hidden[k].first && c <= hidden[k].last)
            return REPLACEMENT;
    return c;
}

void report_put_html(struct text *out, const char *string, size_t most)
{
    static const struct {
        uint32_t character;
        const char *entity;
    } entities[] = {
        { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" }, { '\'', "&#39;" },
    };
    const unsigned char *at = (const unsigned char *)string;
    for (size_t count = 0; *at; count++) {
        if (most > 0 && count == most) {
            text_string(out, "...");
            return;
        }
        const unsigned char *begin = at;
        uint32_t c = shown_character(&at);
        const char *instead = c == REPLACEMENT ? "&#xfffd;" : NULL;
        for (size_t k = 0; k < sizeof entities / sizeof entities[0]; k++)
            if (entities[k].character == c)
                instead = entities[k].entity;
        if (instead)
            text_string(out, instead);
        else
            text_append(out, (const char *)begin, (size_t)(at - begin));
    }
}

void report_put_json(struct text *out, const char *string)
{
    const unsigned char *at = (const unsigned char *)string;
    text_string(out, "\"");
    while (*at) {
        uint32_t c = shown_character(&at);
        const char byte = (char)(c & 0x7f);
        if (c >= 0x10000)
            text_format(out, "\\u%04x\\u%04x", 0xd800u + ((c - 0x10000) >> 10),
                        0xdc00u + ((c - 0x10000) & 0x3ffu));
        else if (c >= 0x7f || strchr("\"\\<>&'", (int)c))
            text_format(out, "\\u%04x", c);
        else
            text_append(out, &byte, 1);
    }
    text_string(out, "\"");
}
