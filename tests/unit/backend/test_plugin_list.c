/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of plugins that cannot be read. opendir and readdir are this program's own here, and fail
 * when they are told to. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/plugin_list.h"
#include "base/file.h"
#include "base/memory.h"

static char folder[] = "/tmp/plugin-list-XXXXXX";
static int opendir_fails, readdir_fails; /* the errno; 0: not at all */

static void *find_next(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    assert_non_null(function);
    return function;
}

DIR *opendir(const char *name)
{
    DIR *(*next)(const char *);
    void *found = find_next("opendir");
    memcpy(&next, &found, sizeof next);
    if (!opendir_fails)
        return next(name);
    errno = opendir_fails;
    return NULL;
}

struct dirent *readdir(DIR *directory)
{
    struct dirent *(*next)(DIR *);
    void *found = find_next("readdir");
    memcpy(&next, &found, sizeof next);
    if (!readdir_fails)
        return next(directory);
    errno = readdir_fails;
    return NULL;
}

static void count_line(void *context, collage_log_level level, const char *line)
{
    assert_int_equal(level, COLLAGE_LOG_WARNING);
    assert_non_null(strstr(line, folder));
    ++*(int *)context;
}

/* How many plugins and warnings there are, or that it fails. */
static void expect(collage_status wanted, size_t plugins, int warnings)
{
    int warned = 0;
    struct plugin_list list;
    struct error error = { 0 };
    const collage_host host = { .struct_size = sizeof host, .context = &warned, .log = count_line };
    assert_int_equal(plugin_list_make(folder, &host, &list, &error), wanted);
    if (wanted == COLLAGE_OK)
        assert_int_equal(list.count, plugins);
    else
        assert_string_equal(error.text, "out of memory");
    assert_int_equal(warned, warnings);
    plugin_list_free(&list);
}

static void test_what_cannot_be_read_is_warned_of(void **state)
{
    (void)state;
    expect(COLLAGE_OK, 2, 0);
    opendir_fails = EACCES;
    expect(COLLAGE_OK, 0, 1);
    opendir_fails = 0;
    readdir_fails = EIO;
    expect(COLLAGE_OK, 0, 1);
    readdir_fails = 0;
}

/* It is not as if there were no plugins. */
static void test_a_lack_of_memory_is_an_error(void **state)
{
    (void)state;
    opendir_fails = ENOMEM;
    expect(COLLAGE_ERROR_MEMORY, 0, 0);
    opendir_fails = 0;
    readdir_fails = ENOMEM;
    expect(COLLAGE_ERROR_MEMORY, 0, 0);
    readdir_fails = 0;
    for (size_t n = 1; n < 6; n++) {
        memory_fail_once(n);
        expect(n < 5 ? COLLAGE_ERROR_MEMORY : COLLAGE_OK, 2, 0);
        memory_fail_after(0);
    }
}

static void make_path(const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", folder, name);
}

static const char *const names[] = { "collage_a.so", "collage_b.so", "other.so" };
enum { NAMES = sizeof names / sizeof names[0] };

static int make_folder(void **state)
{
    (void)state;
    char path[64];
    if (!mkdtemp(folder))
        return -1;
    for (size_t k = 0; k < NAMES; k++) {
        make_path(names[k], path, sizeof path);
        if (file_write(path, "", 0, NULL) != COLLAGE_OK)
            return -1;
    }
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char path[64];
    for (size_t k = 0; k < NAMES; k++) {
        make_path(names[k], path, sizeof path);
        unlink(path);
    }
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_cannot_be_read_is_warned_of),
        cmocka_unit_test(test_a_lack_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
