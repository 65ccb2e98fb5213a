/* SPDX-License-Identifier: Apache-2.0 */
/* Code objects beside a plan: handed out with their hash from a folder of the user's, or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "plan/plan.h"

enum { NOBODY = 65534 };

static const char code[] = "kernel";
static const char hash[] = "6923dd1bc0460082c5d55a831908c24a282860b7f1cd6c2b79cf1bc8857c639c";
static const char other[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

static char folder[64], path[96];

/* A folder of our own with one object, "k.so". */
static int make_folder(void **state)
{
    (void)state;
    struct error error = { 0 };
    umask(022);
    snprintf(folder, sizeof folder, "/tmp/plan-object-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/k.so", folder);
    assert_int_equal(file_write(path, code, strlen(code), &error), COLLAGE_OK);
    assert_int_equal(chmod(path, 0644), 0);
    return 0;
}

static int drop_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) == 0 ? 0 : -1;
}

static collage_status open_object(const char *name, const char *sha256, bool trust,
                                  struct plan_code *out, struct error *error)
{
    struct plan_object object = { .name = name };
    snprintf(object.sha256, sizeof object.sha256, "%s", sha256);
    error_clear(error);
    return plan_object_open(folder, &object, trust, out, error);
}

static void taken(const char *name, bool trust)
{
    struct plan_code found;
    struct error error;
    if (open_object(name, hash, trust, &found, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(found.count, strlen(code));
    assert_memory_equal(found.bytes, code, strlen(code));
    memory_free(found.bytes);
}

static void refused(const char *name, const char *sha256, bool trust, collage_status status,
                    const char *words)
{
    struct plan_code found;
    struct error error;
    assert_int_equal(open_object(name, sha256, trust, &found, &error), status);
    if (!strstr(error.text, words))
        fail_msg("'%s' does not say '%s'", error.text, words);
    assert_null(found.bytes);
}

static void the_hash_decides(void **state)
{
    (void)state;
    taken("k.so", false);
    taken("k.so", true);
    for (int trust = 0; trust < 2; trust++)
        refused("k.so", other, trust, COLLAGE_ERROR_MISMATCH, "is not the one that the plan");
    struct error error = { 0 };
    assert_int_equal(file_write(path, "kernek", 6, &error), COLLAGE_OK);
    refused("k.so", hash, true, COLLAGE_ERROR_MISMATCH, "k.so");
    refused("k.so", "6923DD", false, COLLAGE_ERROR_FORMAT, "no SHA-256");
    assert_int_equal(file_write(path, "", 0, &error), COLLAGE_OK);
    refused("k.so", hash, false, COLLAGE_ERROR_MISMATCH, other); /* what it is: that of nothing */
}

static void names_are_plain(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",      ".",      "..",       "../k.so",      "./k.so",   "/etc/passwd",     "a/k.so",
        ".k.so", "k\n.so", "k\x1b.so", "k\xc2\x9b.so", "k\xff.so", "\xe2\x80\xaek.so"
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_false(plan_object_name_is_plain(bad[k]));
        refused(bad[k], hash, true, COLLAGE_ERROR_FORMAT, "no plain name");
    }
    char name[300];
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_false(plan_object_name_is_plain(name));
    assert_true(plan_object_name_is_plain("kernel-1.2_gcc k\xc3\xb6.so"));
}

static void only_files_of_the_folder(void **state)
{
    (void)state;
    char beside[128];
    refused("missing.so", hash, true, COLLAGE_ERROR_IO, "cannot be opened");
    snprintf(beside, sizeof beside, "%s/link.so", folder);
    assert_int_equal(symlink("k.so", beside), 0);
    for (int trust = 0; trust < 2; trust++)
        refused("link.so", hash, trust, COLLAGE_ERROR_IO, "it is a symbolic link");
    snprintf(beside, sizeof beside, "%s/pipe.so", folder);
    assert_int_equal(mkfifo(beside, 0600), 0);
    refused("pipe.so", hash, true, COLLAGE_ERROR_IO, "not a regular file"); /* and does not hang */
    snprintf(beside, sizeof beside, "%s/folder.so", folder);
    assert_int_equal(mkdir(beside, 0700), 0);
    refused("folder.so", hash, true, COLLAGE_ERROR_IO, "not a regular file");
}

static void others_must_not_write(void **state)
{
    (void)state;
    static const mode_t loose[] = { 0770, 0707, 0777, 01777 };
    for (size_t k = 0; k < sizeof loose / sizeof *loose; k++) {
        assert_int_equal(chmod(folder, loose[k]), 0);
        refused("k.so", hash, false, COLLAGE_ERROR_ARGUMENT,
                "the plan's folder may be written by other users");
        taken("k.so", true);
        assert_int_equal(chmod(folder, 0700), 0);
    }
    static const mode_t files[] = { 0664, 0646 };
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        assert_int_equal(chmod(path, files[k]), 0);
        refused("k.so", hash, false, COLLAGE_ERROR_ARGUMENT,
                "the file may be written by other users");
        taken("k.so", true);
    }
    assert_int_equal(chmod(path, 0444), 0);
    taken("k.so", false);
}

static void others_must_not_own(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(path, NOBODY, NOBODY), 0);
    refused("k.so", hash, false, COLLAGE_ERROR_ARGUMENT, "the file belongs to another user");
    taken("k.so", true);
    assert_int_equal(chown(path, 0, 0), 0);
    assert_int_equal(chown(folder, NOBODY, NOBODY), 0);
    refused("k.so", hash, false, COLLAGE_ERROR_ARGUMENT,
            "the plan's folder belongs to another user");
    taken("k.so", true);
}

static void objects_are_bounded(void **state)
{
    (void)state;
    assert_int_equal(truncate(path, (off_t)PLAN_OBJECT_BYTES + 1), 0); /* takes no room */
    refused("k.so", hash, true, COLLAGE_ERROR_FORMAT, "larger than any");
}

/* ---- all of a plan ---- */

static void a_plan_has_all_or_none(void **state)
{
    (void)state;
    struct error error = { 0 };
    struct plan_codes codes;
    struct plan_object objects[2] = { { .name = "k.so" }, { .name = "l.so" } };
    for (size_t k = 0; k < 2; k++)
        memcpy(objects[k].sha256, hash, sizeof hash);
    struct plan plan = { .objects = objects };
    assert_int_equal(plan_codes_load(&plan, false, &codes, &error), COLLAGE_OK);
    assert_int_equal(codes.count, 0);
    plan_codes_free(&codes);
    plan.object_count = 2;
    assert_int_equal(plan_codes_load(&plan, true, &codes, &error), COLLAGE_ERROR_ARGUMENT);
    assert_non_null(strstr(error.text, "not read from a file"));
    plan.folder = folder;
    error_clear(&error);
    assert_int_equal(plan_codes_load(&plan, false, &codes, &error), COLLAGE_ERROR_IO);
    assert_non_null(strstr(error.text, "l.so"));
    assert_null(codes.items);
    char second[96];
    snprintf(second, sizeof second, "%s/l.so", folder);
    error_clear(&error);
    assert_int_equal(file_write(second, code, strlen(code), &error), COLLAGE_OK);
    assert_int_equal(chmod(second, 0600), 0);
    if (plan_codes_load(&plan, false, &codes, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(codes.count, 2);
    /* Read once: what happens to the file does not matter any more. */
    assert_int_equal(file_write(second, "x", 1, &error), COLLAGE_OK);
    assert_memory_equal(codes.items[1].bytes, code, strlen(code));
    plan_codes_free(&codes);
}

static void folders_are_found(void **state)
{
    (void)state;
    struct error error = { 0 };
    char file[128], real[4096], *before = getcwd(NULL, 0);
    struct plan plan = { .arena = arena_create() };
    assert_non_null(before);
    snprintf(file, sizeof file, "%s/a.plan.json", folder);
    assert_int_equal(plan_set_folder(&plan, file, &error), COLLAGE_OK);
    assert_non_null(realpath(folder, real));
    assert_string_equal(plan.folder, real);
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(plan_set_folder(&plan, "a.plan.json", &error), COLLAGE_OK);
    assert_int_equal(chdir(before), 0);
    assert_string_equal(plan.folder, real);
    assert_int_equal(plan_set_folder(&plan, "/nowhere/a.plan.json", &error), COLLAGE_ERROR_IO);
    free(before);
    arena_destroy(plan.arena);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(the_hash_decides),         WITH_FOLDER(names_are_plain),
        WITH_FOLDER(only_files_of_the_folder), WITH_FOLDER(others_must_not_write),
        WITH_FOLDER(others_must_not_own),      WITH_FOLDER(objects_are_bounded),
        WITH_FOLDER(a_plan_has_all_or_none),   WITH_FOLDER(folders_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
