/* SPDX-License-Identifier: Apache-2.0 */
/* Code for kernels: made by the compiler, kept, found again; compilers that are missing, broken or
 * hang; the code of plans. */
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
#include <dirent.h>

#include "backend/code.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"

static const char source[] = "int collage_kernel(void) { return 7; }\n";
static const char *const none[] = { NULL };
static const char *const some[] = { "-DX=1", NULL };

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    umask(022);
    unsetenv("COLLAGE_CC");
    snprintf(folder, sizeof folder, "/tmp/test-code-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) == 0 ? 0 : -1;
}

/* Files of the folder whose names have this part; the last one's name goes to `name`. */
static int count_files(const char *part, char name[256])
{
    DIR *open = opendir(folder);
    int count = 0;
    for (const struct dirent *e; open && (e = readdir(open));) {
        if (e->d_name[0] == '.' || !strstr(e->d_name, part))
            continue;
        count++;
        snprintf(name, 256, "%.255s", e->d_name);
    }
    if (open)
        closedir(open);
    return count;
}

/* A "compiler" that is this script. */
static void write_compiler(const char *script)
{
    char path[96];
    struct error error = { 0 };
    snprintf(path, sizeof path, "%s/my cc", folder);
    assert_int_equal(file_write(path, script, strlen(script), &error), COLLAGE_OK);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(setenv("COLLAGE_CC", path, 1), 0);
}

static struct code_service make_service(void)
{
    struct code_service service = { 0 };
    struct error error = { 0 };
    assert_int_equal(code_set_folder(&service, folder, &error), COLLAGE_OK);
    return service;
}

static void given(struct code_service *service, const char *const *options)
{
    void *bytes;
    size_t count;
    struct error error = { 0 };
    if (code_get(service, source, options, &bytes, &count, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    assert_true(count > 4);
    assert_memory_equal(bytes, "\177ELF", 4);
    memory_free(bytes);
}

static void refused(struct code_service *service, collage_status status, const char *words)
{
    void *bytes;
    size_t count;
    struct error error = { 0 };
    code_begin(service);
    assert_int_equal(code_get(service, source, none, &bytes, &count, &error), status);
    assert_null(bytes);
    assert_true(service->lacked);
    assert_int_equal(service->use_count, 0);
    if (!strstr(error.text, words))
        fail_msg("'%s' lacks '%s'", error.text, words);
}

/* ---- a compiler that works ---- */

static void test_made_and_kept(void **state)
{
    (void)state;
    char name[256];
    struct code_service service = make_service();
    given(&service, none);
    given(&service, none);
    assert_int_equal(service.use_count, 1);
    assert_int_equal(count_files("make-", name), 0);
    assert_int_equal(count_files(".so", name), 1);
    assert_string_equal(name, service.uses[0].name);
    given(&service, some);
    assert_int_equal(service.use_count, 2);
    assert_int_equal(count_files(".so", name), 2);
    code_begin(&service);
    assert_int_equal(service.use_count, 0);
    code_free(&service);
    setenv("COLLAGE_CC", "", 1);
    service = make_service(); /* another process, without a compiler */
    given(&service, none);
    assert_string_not_equal(service.uses[0].name, "");
    assert_false(service.lacked);
    code_free(&service);
}

/* Cut short, written to by others, a link: none of these is used; it is made again. */
static void test_damaged(void **state)
{
    (void)state;
    char name[256], path[400], other[400];
    struct code_service service = make_service();
    given(&service, none);
    assert_int_equal(count_files(".so", name), 1);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(other, sizeof other, "%s/other", folder);
    assert_int_equal(truncate(path, 100), 0);
    given(&service, none);
    assert_int_equal(chmod(path, 0666), 0);
    given(&service, none);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    given(&service, none);
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISREG(info.st_mode));
    code_free(&service);
}

static void test_folder_of_others(void **state)
{
    (void)state;
    assert_int_equal(chmod(folder, 0777), 0);
    struct code_service service = make_service();
    refused(&service, COLLAGE_ERROR_UNSUPPORTED, "may be written by other users");
    code_free(&service);
    service = (struct code_service){ 0 };
    refused(&service, COLLAGE_ERROR_UNSUPPORTED, "no code is made here");
    code_free(&service);
}

/* ---- one that does not ---- */

static void test_no_compiler(void **state)
{
    (void)state;
    struct code_service service = make_service();
    setenv("COLLAGE_CC", "", 1);
    refused(&service, COLLAGE_ERROR_UNSUPPORTED, "there is no C compiler");
    code_free(&service);
    setenv("COLLAGE_CC", "/no/such/compiler", 1);
    service = make_service();
    refused(&service, COLLAGE_ERROR_UNSUPPORTED, "there is no C compiler");
    code_free(&service);
    const char *now = getenv("PATH");
    char *path = strdup(now ? now : "");
    assert_non_null(path);
    unsetenv("COLLAGE_CC");
    setenv("PATH", ":.:relative:/no/such/folder", 1);
    service = make_service();
    refused(&service, COLLAGE_ERROR_UNSUPPORTED, "there is no C compiler");
    code_free(&service);
    setenv("PATH", path, 1);
    free(path);
}

static void test_broken_compiler(void **state)
{
    (void)state;
    char name[256];
    write_compiler(
        "#!/bin/sh\necho some words >&2\necho kernel.c: error: no such luck >&2\nexit 3\n");
    struct code_service service = make_service();
    refused(&service, COLLAGE_ERROR_UNSUPPORTED, "(exit status 3): kernel.c: error: no such luck");
    write_compiler("#!/bin/sh\nexit 0\n"); /* it is not asked again */
    refused(&service, COLLAGE_ERROR_UNSUPPORTED, "no such luck");
    code_free(&service);
    service = make_service();
    refused(&service, COLLAGE_ERROR_UNSUPPORTED, "made no shared object");
    code_free(&service);
    write_compiler("#!/bin/sh\nkill -SEGV $$\n");
    service = make_service();
    refused(&service, COLLAGE_ERROR_UNSUPPORTED, "crashed (signal 11)");
    code_free(&service);
    write_compiler("no program\n");
    service = make_service();
    refused(&service, COLLAGE_ERROR_UNSUPPORTED, "C compiler");
    code_free(&service);
    assert_int_equal(count_files("make-", name), 0);
    assert_int_equal(count_files(".so", name), 0);
}

/* It is killed, with what it has started. */
static void test_hanging_compiler(void **state)
{
    (void)state;
    char name[256], script[256];
    snprintf(script, sizeof script, "#!/bin/sh\n(sleep 2; : >'%s/alive') &\nsleep 60\n", folder);
    write_compiler(script);
    struct code_service service = make_service();
    compiler_find(&service.compiler);
    service.compiler_known = true;
    service.compiler.seconds = 0.3;
    uint64_t start = clock_ns();
    refused(&service, COLLAGE_ERROR_UNSUPPORTED, "was stopped after");
    refused(&service, COLLAGE_ERROR_UNSUPPORTED, "was stopped after");
    assert_true(clock_ns() - start < 30000000000u);
    code_free(&service);
    sleep(3);
    assert_int_equal(count_files("alive", name), 0);
    assert_int_equal(count_files("make-", name), 0);
}

/* ---- plans ---- */

/* Their objects are found by key; nothing else is, compiler or not. */
static void test_objects_only(void **state)
{
    (void)state;
    void *bytes, *lacking;
    size_t count, nothing;
    struct error error = { 0 };
    struct code_service service = make_service();
    given(&service, none);
    struct code_use use = service.uses[0];
    assert_int_equal(code_get(&service, source, none, &bytes, &count, &error), COLLAGE_OK);
    const struct code_object object = { use.name, bytes, count };
    service.only_objects = true;
    refused(&service, COLLAGE_ERROR_MISMATCH, "optimize the model again");
    service.objects = &object;
    service.object_count = 1;
    code_begin(&service);
    given(&service, none);
    assert_int_equal(code_get(&service, source, some, &lacking, &nothing, &error),
                     COLLAGE_ERROR_MISMATCH);
    memory_free(bytes);
    code_free(&service);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)

/* Under a name: nothing yet, then made, then found whatever the source; a plan's only. */
static void test_named(void **state)
{
    (void)state;
    struct code_service service = make_service();
    struct error error = { 0 };
    void *bytes = NULL;
    size_t count = 0;
    assert_int_equal(code_get_named(&service, "one", NULL, NULL, &bytes, &count, &error),
                     COLLAGE_OK);
    assert_null(bytes);
    assert_int_equal(service.use_count, 0);
    assert_false(service.lacked);
    assert_int_equal(code_get_named(&service, "one", source, none, &bytes, &count, &error),
                     COLLAGE_OK);
    assert_memory_equal(bytes, "\177ELF", 4);
    memory_free(bytes);
    assert_int_equal(service.use_count, 1);
    assert_int_equal(code_get_named(&service, "one", "nonsense", none, &bytes, &count, &error),
                     COLLAGE_OK);
    memory_free(bytes);
    assert_int_equal(service.use_count, 1);
    assert_int_equal(code_get_named(&service, "two", NULL, NULL, &bytes, &count, &error),
                     COLLAGE_OK);
    assert_null(bytes);
    service.only_objects = true;
    assert_int_equal(code_get_named(&service, "one", NULL, NULL, &bytes, &count, &error),
                     COLLAGE_ERROR_MISMATCH);
    assert_null(bytes);
    code_free(&service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_made_and_kept),
        TEST(test_damaged),
        TEST(test_folder_of_others),
        TEST(test_no_compiler),
        TEST(test_broken_compiler),
        TEST(test_hanging_compiler),
        TEST(test_objects_only),
        cmocka_unit_test_setup_teardown(test_named, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
