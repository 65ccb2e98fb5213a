/* SPDX-License-Identifier: Apache-2.0 */
/* What is registered: which entry counts, and that the file holds the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/registered.h"
#include "base/file.h"
#include "base/memory.h"

static char folder[] = "/tmp/collage-registered-XXXXXX", path[64];

static struct registered_entry entry(enum registered_kind kind, const char *target,
                                     const char *name, const char *file)
{
    return (struct registered_entry){ kind, target, name, file, true, NULL };
}

/* As text: kind, target, name and path of each. */
static void expect(const struct registered *list, const char *wanted)
{
    struct text text = { 0 };
    text_string(&text, "");
    for (size_t k = 0; k < list->count; k++)
        text_format(&text, "%d %s %s %s;", (int)list->items[k].kind, list->items[k].target,
                    list->items[k].name, list->items[k].path);
    assert_false(text.failed);
    assert_string_equal(text.bytes, wanted);
    text_free(&text);
}

static void set(struct registered *list, enum registered_kind kind, const char *target,
                const char *name, const char *file)
{
    const struct registered_entry one = entry(kind, target, name, file);
    assert_int_equal(kind == REGISTERED_PATTERNS ? registered_add_file(list, &one, NULL)
                                                 : registered_set_backend(list, &one, NULL),
                     COLLAGE_OK);
}

static void test_the_newest_counts(void **state)
{
    (void)state;
    struct registered list = { 0 };
    set(&list, REGISTERED_PLUGIN, "any", "a", "/a");
    set(&list, REGISTERED_PLUGIN, "Intel*", "a", "/b");
    set(&list, REGISTERED_PATTERNS, "any", "", "/p");
    set(&list, REGISTERED_PATTERNS, "any", "", "/p");
    expect(&list, "0 Intel* a /b;0 any a /a;2 any  /p;");
    set(&list, REGISTERED_OFF, "any", "a", "");
    expect(&list, "1 any a ;0 Intel* a /b;2 any  /p;");
    assert_false(registered_forget_backend(&list, "a", "AMD*"));
    assert_true(registered_forget_backend(&list, "a", NULL));
    assert_false(registered_forget_file(&list, REGISTERED_PATTERNS, "/q", NULL));
    assert_true(registered_forget_file(&list, REGISTERED_PATTERNS, "/p", "any"));
    expect(&list, "");
    registered_free(&list);
}

static void test_targets(void **state)
{
    (void)state;
    const struct registered_entry any = entry(REGISTERED_OFF, "any", "a", "");
    const struct registered_entry intel = entry(REGISTERED_OFF, "Intel*", "a", "");
    const struct registered_entry print = entry(REGISTERED_OFF, "0123*", "a", "");
    assert_true(registered_fits(&any, NULL, NULL));
    assert_false(registered_fits(&intel, NULL, NULL));
    assert_true(registered_fits(&intel, "Intel(R) Xeon(R), 2 cores", "0123abcd"));
    assert_true(registered_fits(&print, "Intel(R) Xeon(R), 2 cores", "0123abcd"));
    assert_false(registered_fits(&intel, "AMD EPYC, 8 cores", "0123abcd"));
}

static void test_file(void **state)
{
    (void)state;
    struct registered list = { 0 }, again;
    struct error error = { 0 };
    assert_int_equal(registered_read(path, &again, &error), COLLAGE_OK); /* there is none */
    expect(&again, "");
    set(&list, REGISTERED_PLUGIN, "Intel* 2 cores", "a", "/with space/a.so");
    set(&list, REGISTERED_OFF, "any", "b", "");
    set(&list, REGISTERED_PATTERNS, "any", "", "/p");
    set(&list, REGISTERED_PLUGIN, "any", "c", "/c.so");
    list.items[0].kept = false; /* of this process only: not written */
    if (registered_write(path, &list, &error) != COLLAGE_OK ||
        registered_read(path, &again, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    expect(&again, "1 any b ;0 Intel* 2 cores a /with space/a.so;2 any  /p;");
    assert_true(again.items[0].kept);
    registered_free(&again);
    registered_free(&list);
}

static void test_who_may_write(void **state)
{
    (void)state;
    struct registered list = { 0 };
    struct error error = { 0 };
    assert_int_equal(registered_write(path, &list, &error), COLLAGE_OK);
    chmod(folder, 0777);
    assert_int_equal(registered_read(path, &list, &error), COLLAGE_ERROR_ARGUMENT);
    assert_non_null(strstr(error.text, "its folder may be written by other users"));
    chmod(folder, 0700);
    chmod(path, 0660);
    error_clear(&error);
    assert_int_equal(registered_read(path, &list, &error), COLLAGE_ERROR_ARGUMENT);
    assert_non_null(strstr(error.text, "may be written by other users"));
    chmod(path, 0600);
}

#define FIFTY               "**************************************************"
#define TWO_HUNDRED_AND_ONE FIFTY FIFTY FIFTY FIFTY "*"

static const struct {
    const char *text, *message;
} malformed[] = {
    { "", ":1: expected 'collage_registry 1'" },
    { "collage_registry 2\n", ":1: expected 'collage_registry 1'" },
    { "collage_registry 1\n\nplug\tany\ta\t/a\n",
      ":3: expected 'plugin', 'off', 'patterns' or 'costs'" },
    { "collage_registry 1\nplugin\tany\t/a\n", ":2: expected 'plugin', target, name and path" },
    { "collage_registry 1\noff\tany\ta\t/a\tb\tc\n", ":2: expected 'off', target and name" },
    { "collage_registry 1\npatterns\tany\ta\n", ":2: expected a path that begins with '/'" },
    { "collage_registry 1\nplugin\tany\ta\t/a:/b\n", ":2: expected a path without ':'" },
    { "collage_registry 1\noff\tany\t\n", ":2: expected printable fields" },
    { "collage_registry 1\noff\t" TWO_HUNDRED_AND_ONE "\ta\n", ":2: expected a target of at most" },
    { "collage_registry 1\noff\tany\t\033[2J\n", ":2: expected printable fields" },
};

static void test_malformed(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof malformed / sizeof malformed[0]; k++) {
        struct registered list;
        struct error error = { 0 };
        const char *text = malformed[k].text;
        assert_int_equal(file_write_private(path, text, strlen(text), &error), COLLAGE_OK);
        assert_int_equal(registered_read(path, &list, &error), COLLAGE_ERROR_FORMAT);
        if (!strstr(error.text, malformed[k].message))
            fail_msg("%s, not %s", error.text, malformed[k].message);
        assert_int_equal(list.count, 0);
    }
    struct registered list;
    struct error error = { 0 };
    assert_int_equal(file_write_private(path, "collage_registry 1\n\0x", 21, &error), COLLAGE_OK);
    assert_int_equal(registered_read(path, &list, &error), COLLAGE_ERROR_FORMAT);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    static const char text[] = "collage_registry 1\nplugin\tany\ta\t/a\noff\tany\tb\n";
    struct registered list, copy;
    collage_status status = COLLAGE_ERROR_MEMORY;
    assert_int_equal(file_write_private(path, text, sizeof text - 1, NULL), COLLAGE_OK);
    for (size_t n = 1; status == COLLAGE_ERROR_MEMORY && n < 100; n++) {
        memory_fail_after(n);
        status = registered_read(path, &list, NULL);
        if (status == COLLAGE_OK) {
            status = registered_copy(&list, &copy, NULL);
            registered_free(&list);
        }
        memory_fail_after(0);
    }
    assert_int_equal(status, COLLAGE_OK);
    expect(&copy, "0 any a /a;1 any b ;");
    registered_free(&copy);
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/registry", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_newest_counts),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_who_may_write),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
