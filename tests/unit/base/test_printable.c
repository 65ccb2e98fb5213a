/* SPDX-License-Identifier: Apache-2.0 */
/* What a terminal may be shown of a hostile text: in copies, in place, in columns, in messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/printable.h"
#include "base/text.h"

static const struct {
    const char *text, *shown;
} table[] = {
    { "", "" },
    { "conv/1:0 'a' \"b\" \\ ~", "conv/1:0 'a' \"b\" \\ ~" },
    { "a\nb\tc\rd", "a?b?c?d" },
    { "\x1b[2J\x1b]0;title\x07", "?[2J?]0;title?" },
    { "\x7f\x01\x1f", "???" },
    /* valid characters stay: two, three and four bytes, combining, joiner, emoji, BOM, U+FFFD */
    { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
    { "e\xcc\x81\xe2\x80\x8d\xef\xb8\x8f\xef\xbb\xbf",
      "e\xcc\x81\xe2\x80\x8d\xef\xb8\x8f\xef\xbb\xbf" },
    { "\xef\xbf\xbd", "\xef\xbf\xbd" },
    { "\xc2\xa0\xd7\xa9", "\xc2\xa0\xd7\xa9" }, /* the first behind C1; a letter of Hebrew */
    /* C1: as characters, and as bare bytes */
    { "\xc2\x80\xc2\x9b\xc2\x9f", "???" },
    { "\x80\x9b\x9f", "???" },
    /* ends of lines and paragraphs; embedding, override, isolation */
    { "a\xe2\x80\xa8z\xe2\x80\xa9", "a?z?" },
    { "\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xac\xe2\x80\xad\xe2\x80\xae", "?????" },
    { "\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9", "????" },
    { "\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa",
      "\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa" }, /* beside them */
    /* no UTF-8: overlong, surrogates, too large, cut, bytes that there are not */
    { "\xc0\xaf\xc1\x81", "????" },
    { "\xe0\x80\xaf", "???" },
    { "\xf0\x80\x80\xaf", "????" },
    { "\xed\xa0\x80", "???" },
    { "\xf4\x90\x80\x80", "????" },
    { "x\xe2\x82", "x??" },
    { "\xe2\x82z", "??z" },
    { "\xf0\x9f\x98\x1b", "????" },
    { "\xf8\x88\x80\x80\x80\xfe\xff", "???????" },
    { "\xc3", "?" },
};

static void texts_are_made_printable(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        char copy[64], place[64];
        struct text text = { 0 };
        assert_int_equal(collage_printable(copy, sizeof copy, table[k].text),
                         strlen(table[k].shown));
        if (strcmp(copy, table[k].shown) != 0)
            fail_msg("row %zu: '%s'", k, copy);
        snprintf(place, sizeof place, "%s", table[k].text);
        printable_make(place, false);
        assert_string_equal(place, table[k].shown);
        text_printable(&text, table[k].text, 0);
        assert_string_equal(text.bytes ? text.bytes : "", table[k].shown);
        text_free(&text);
        assert_int_equal(printable_is(table[k].text), strcmp(table[k].text, table[k].shown) == 0);
        assert_true(printable_is(table[k].shown));
        printable_make(place, false); /* once more changes nothing */
        assert_string_equal(place, table[k].shown);
    }
}

/* A copy is cut between characters, whatever the size. */
static void copies_are_cut_between_characters(void **state)
{
    (void)state;
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z\x1b";
    static const size_t fits[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 12, 12 };
    for (size_t size = 0; size <= 14; size++) {
        char out[16];
        memset(out, 'x', sizeof out);
        size_t count = collage_printable(out, size, text);
        assert_int_equal(count, size ? fits[size - 1] : 0);
        if (size > 0)
            assert_int_equal(out[count], '\0');
        for (size_t k = size; k < sizeof out; k++)
            assert_int_equal(out[k], 'x');
        assert_int_equal(memcmp(out, text, count < 11 ? count : 11), 0);
    }
}

/* What was cut by somebody else: the beginning of a character goes, all else stays. */
static void a_beginning_at_the_end_goes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
    } rows[] = {
        { "x\xc3", "x" },
        { "x\xe2\x82", "x" },
        { "x\xf0\x9f\x98", "x" },
        { "x\xf0\x9f\x98\x80", "x\xf0\x9f\x98\x80" },
        { "x\xc3\xa9", "x\xc3\xa9" },
        { "x", "x" },
        { "", "" },
        { "\xe2", "" },
        { "\x80\x80", "??" },
        { "x\x80\x80\x80\x80", "x????" },
        { "x\xc3\xa9\xa9", "x\xc3\xa9?" },
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char text[16];
        snprintf(text, sizeof text, "%s", rows[k].text);
        printable_make(text, true);
        if (strcmp(text, rows[k].shown) != 0)
            fail_msg("row %zu: '%s'", k, text);
    }
}

static void columns_count_characters(void **state)
{
    (void)state;
    struct text text = { 0 };
    text_printable(&text, "\xc3\xa9\xc2\x9b\xe2\x82\xac", 5);
    assert_string_equal(text.bytes, "\xc3\xa9?\xe2\x82\xac  ");
    text_printable(&text, "\xc3\xa9\xc3\xa9\xc3\xa9", 2);
    assert_string_equal(text.bytes, "\xc3\xa9?\xe2\x82\xac  \xc3\xa9\xc3\xa9");
    text_free(&text);
}

static void messages_are_printable(void **state)
{
    (void)state;
    struct error error = { 0 };
    error_set(&error, COLLAGE_ERROR_FORMAT, "node '%s'",
              "\xc2\x9b"
              "31m\xe2\x80\xae\n\xc3\xa9");
    assert_string_equal(error.text, "node '?31m??\xc3\xa9'");
    error_prefix(&error, "file '%s'", "\x9b\x1b");
    assert_string_equal(error.text, "file '?\?': node '?31m??\xc3\xa9'");
    collage_message message;
    message_set(&message, COLLAGE_ERROR_BACKEND, "%s", "\xe2\x81\xa6\x85");
    assert_string_equal(message.text, "??");
    error_clear(&error);
    error_from_message(&error, COLLAGE_ERROR_BACKEND, "b\x1b", &message);
    assert_string_equal(error.text, "backend b?: ??");
    /* Cut where a character would be halved: 3 bytes each, whatever stands before. */
    char lots[900];
    for (size_t k = 0; k + 3 < sizeof lots; k += 3)
        memcpy(lots + k, "\xe2\x82\xac", 4);
    for (int shift = 0; shift < 3; shift++) {
        error_clear(&error);
        error_set(&error, COLLAGE_ERROR_FORMAT, "%.*s%s", shift, "xx", lots);
        assert_null(strchr(error.text, '?'));
        assert_true(printable_is(error.text));
        assert_true(strlen(error.text) > sizeof error.text - 4);
        error_prefix(&error, "%.*s", shift, "zz");
        assert_null(strchr(error.text, '?'));
        assert_true(printable_is(error.text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_made_printable),
        cmocka_unit_test(copies_are_cut_between_characters),
        cmocka_unit_test(a_beginning_at_the_end_goes),
        cmocka_unit_test(columns_count_characters),
        cmocka_unit_test(messages_are_printable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
