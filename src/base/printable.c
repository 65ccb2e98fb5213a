/* SPDX-License-Identifier: Apache-2.0 */
#include "base/printable.h"

#include <string.h>

uint32_t printable_take(const unsigned char **at)
{
    static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
    const unsigned char *s = *at;
    uint32_t c = s[0];
    uint32_t more = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
    *at = s + 1;
    if ((c >= 0x80 && c < 0xc0) || c >= 0xf8)
        return PRINTABLE_NO_CHARACTER;
    if (more > 0)
        c &= 0x3fu >> more;
    for (uint32_t k = 1; k <= more; k++) {
        if ((s[k] & 0xc0) != 0x80) /* the terminator, too */
            return PRINTABLE_NO_CHARACTER;
        c = c << 6 | (s[k] & 0x3fu);
    }
    if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return PRINTABLE_NO_CHARACTER;
    *at = s + 1 + more;
    return c;
}

struct range {
    uint32_t first, last;
};

/* Controls; ends of lines and paragraphs, and what embeds or overrides a direction; what isolates
 * one. */
static const struct range hidden[] = {
    { 0x00, 0x1f },
    { 0x7f, 0x9f },
    { 0x2028, 0x202e },
    { 0x2066, 0x2069 },
};

/* U+FFFD itself is a character like any other: it took its three bytes. */
static bool is_shown(uint32_t c, const unsigned char *begin, const unsigned char *end)
{
    if (c == PRINTABLE_NO_CHARACTER && end - begin == 1)
        return false;
    for (size_t k = 0; k < sizeof hidden / sizeof hidden[0]; k++)
        if (c >= hidden[k].first && c <= hidden[k].last)
            return false;
    return true;
}

uint32_t printable_take_shown(const unsigned char **at)
{
    const unsigned char *begin = *at;
    const uint32_t c = printable_take(at);
    return is_shown(c, begin, *at) ? c : '?';
}

bool printable_is(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        const unsigned char *begin = at;
        const uint32_t c = printable_take(&at);
        if (!is_shown(c, begin, at))
            return false;
    }
    return true;
}

size_t collage_printable(char *out, size_t size, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t count = 0;
    while (size > 0 && *at) {
        const unsigned char *begin = at;
        const uint32_t c = printable_take(&at);
        const bool shown = is_shown(c, begin, at);
        const size_t bytes = shown ? (size_t)(at - begin) : 1;
        if (bytes > size - 1 - count)
            break;
        if (shown)
            memmove(out + count, begin, bytes); /* in place, out is never ahead of begin */
        else
            out[count] = '?';
        count += bytes;
    }
    if (size > 0)
        out[count] = '\0';
    return count;
}

static void drop_beginning_at_end(char *text)
{
    enum { MOST_MORE = 3 };
    size_t end = strlen(text), more = 0;
    while (more < MOST_MORE && more < end && ((unsigned char)text[end - 1 - more] & 0xc0) == 0x80)
        more++;
    if (more == end)
        return;
    const unsigned char first = (unsigned char)text[end - 1 - more];
    const size_t wanted = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
    if (more < wanted)
        text[end - 1 - more] = '\0';
}

void printable_make(char *text, bool cut)
{
    if (cut)
        drop_beginning_at_end(text);
    collage_printable(text, strlen(text) + 1, text);
}
