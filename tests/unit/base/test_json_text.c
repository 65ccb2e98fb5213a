/* SPDX-License-Identifier: Apache-2.0 */
/* Strings that anybody may have made, as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json_text.h"
#include "base/memory.h"
#include "base/printable.h"

static const struct {
    const char *text, *printed, *read; /* read: NULL: as the text */
} rows[] = {
    { "Conv_0", "\"Conv_0\"", NULL },
    { "", "\"\"", NULL },
    { "a\"b\\c/d", "\"a\\\"b\\\\c/d\"", NULL },
    { "\x01\x1f\t\n\r\b\f\x1b[2J", "\"\\u0001\\u001F\\t\\n\\r\\b\\f\\u001B[2J\"", NULL },
    { "del\x7f", "\"del\\u007f\"", NULL },
    { "c1\xc2\x9b", "\"c1\\u009b\"", NULL },
    { "\xe2\x80\xae reversed", "\"\\u202e reversed\"", NULL },
    { "is it?", "\"is it?\"", NULL },
    { "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80", "\"\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80\"", NULL },
    { "\xff", "\"\xef\xbf\xbd\"", "\xef\xbf\xbd" },
    { "a\xc3", "\"a\xef\xbf\xbd\"", "a\xef\xbf\xbd" },
    { "\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"", "\xef\xbf\xbd\xef\xbf\xbd" },
    { "\xed\xa0\x80z", NULL, NULL }, /* a surrogate: however it is told, it can be read again */
    { "\xf4\x90\x80\x80", NULL, NULL },
};

static void test_strings(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct text out = { 0 };
        json_t *json = json_text(rows[k].text);
        assert_non_null(json);
        assert_true(json_put(json, JSON_ENCODE_ANY, &out));
        assert_int_equal(out.bytes[--out.count], '\n');
        out.bytes[out.count] = '\0';
        if (rows[k].printed)
            assert_string_equal(out.bytes, rows[k].printed);
        assert_true(printable_is(out.bytes));
        json_t *again = json_loads(out.bytes, JSON_DECODE_ANY, NULL);
        assert_non_null(again);
        assert_true(json_equal(json, again));
        if (rows[k].printed)
            assert_string_equal(json_string_value(again),
                                rows[k].read ? rows[k].read : rows[k].text);
        json_decref(again);
        json_decref(json);
        text_free(&out);
    }
}

/* All strings of two bytes. */
static void test_all_bytes(void **state)
{
    (void)state;
    for (unsigned value = 0x100; value < 0x10000; value++) {
        const char text[] = { (char)(value >> 8), (char)(value & 0xff), '\0' };
        struct text out = { 0 };
        json_t *json = json_pack("[o]", json_text(text));
        assert_true(json_put(json, JSON_INDENT(2), &out));
        json_t *again = json_loads(out.bytes, 0, NULL);
        assert_true(json_equal(json, again));
        for (const char *c = out.bytes; *c; c++)
            assert_true(*c == '\n' || ((unsigned char)*c >= 0x20 && *c != 0x7f));
        json_decref(again);
        json_decref(json);
        text_free(&out);
    }
}

static void test_failures(void **state)
{
    (void)state;
    struct text out = { 0 };
    memory_fail_after(1);
    assert_null(json_text("text"));
    json_t *json = json_string("text");
    assert_false(json_put(json, JSON_ENCODE_ANY, &out));
    memory_fail_after(0);
    assert_false(json_put(NULL, 0, &out));
    json_decref(json);
    text_free(&out);
    json = json_text(NULL);
    assert_string_equal(json_string_value(json), "");
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_all_bytes),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
