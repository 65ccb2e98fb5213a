/* SPDX-License-Identifier: Apache-2.0 */
#include "report/escape.h"

#include <string.h>

enum { REPLACEMENT = 0xfffd };

/* The character at *at, which moves behind it; REPLACEMENT for a byte that begins none. */
static uint32_t take_character(const unsigned char **at)
{
    static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
    const unsigned char *s = *at;
    uint32_t c = s[0];
    uint32_t more = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
    *at = s + 1;
    if ((c >= 0x80 && c < 0xc0) || c >= 0xf8)
        return REPLACEMENT;
    if (more > 0)
        c &= 0x3fu >> more;
    for (uint32_t k = 1; k <= more; k++) {
        if ((s[k] & 0xc0) != 0x80) /* the terminator, too */
            return REPLACEMENT;
        c = c << 6 | (s[k] & 0x3fu);
    }
    if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return REPLACEMENT;
    *at = s + 1 + more;
    return c;
}

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
    uint32_t c = take_character(at);
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
