/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/file.h"
#include "cost/races.h"

struct fixture {
    char directory[64];
    struct arena *arena;
};

static const struct cost_conditions conditions = { "onednn", "3.2.0", "machine", 2, 20 };

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    snprintf(f->directory, sizeof f->directory, "/tmp/collage-store-XXXXXX");
    f->arena = arena_create();
    *state = f;
    return mkdtemp(f->directory) && f->arena ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = { "costs.sqlite",
                                         "costs.sqlite-wal",
                                         "costs.sqlite-shm",
                                         "costs.sqlite.damaged",
                                         "costs.sqlite.old",
                                         "costs.lock",
                                         "plain" };
    char path[128];
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        snprintf(path, sizeof path, "%s/%s", f->directory, names[k]);
        unlink(path);
    }
    int left = rmdir(f->directory);
    arena_destroy(f->arena);
    free(f);
    return left;
}

static struct cost_store *open_store(struct fixture *f)
{
    struct error error = { 0 };
    struct cost_store *store = NULL;
    if (cost_store_open(f->directory, &store, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    return store;
}

static struct hash key_of(uint64_t number)
{
    return (struct hash){ number, ~number };
}

static struct cost get(struct fixture *f, struct cost_store *store, uint64_t number)
{
    struct cost cost;
    struct error error = { 0 };
    if (cost_store_get(store, key_of(number), &conditions, f->arena, &cost, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    return cost;
}

static void put(struct cost_store *store, uint64_t number, double cost_ns)
{
    struct cost cost = {
        .state = COST_MEASURED, .cost_ns = cost_ns, .implementation = "jit:avx2", .reason = ""
    };
    struct error error = { 0 };
    if (cost_store_put(store, key_of(number), &conditions, "Conv", &cost, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
}

static void test_round_trip(void **state)
{
    struct fixture *f = *state;
    struct cost_store *store = open_store(f);
    assert_string_equal(cost_store_warning(store), "");
    assert_int_equal(get(f, store, 1).state, COST_UNKNOWN);
    struct cost measured = { .state = COST_MEASURED,
                             .cost_ns = 1234.5678901234567,
                             .minimum_ns = 1200,
                             .low_ns = 1220,
                             .high_ns = 1250.25,
                             .sample_count = 31,
                             .passes = 2,
                             .error = 1.25e-7,
                             .weight_bytes = 1ull << 40,
                             .scratch_bytes = 4096,
                             .inplace_count = 2,
                             .inplace = { 0, 1, 2, 3 },
                             .implementation = "jit:avx2 'quoted'",
                             .reason = "" };
    struct cost failed = { .state = COST_FAILED,
                           .error = (double)INFINITY,
                           .implementation = "",
                           .reason = "crashed (SIGSEGV)" };
    struct error error = { 0 };
    cost_store_put(store, key_of(1), &conditions, "Conv+Relu 1x64", &measured, &error);
    cost_store_put(store, key_of(2), &conditions, "Conv", &failed, &error);
    assert_int_equal(error.status, COLLAGE_OK);
    cost_store_close(store);

    store = open_store(f);
    struct cost a = get(f, store, 1), b = get(f, store, 2);
    assert_int_equal(a.state, COST_MEASURED);
    assert_true(a.cost_ns == measured.cost_ns && a.minimum_ns == measured.minimum_ns &&
                a.low_ns == measured.low_ns && a.high_ns == measured.high_ns &&
                a.error == measured.error);
    assert_int_equal(a.sample_count, 31);
    assert_int_equal(a.passes, 2);
    assert_int_equal(a.weight_bytes, measured.weight_bytes);
    assert_int_equal(a.scratch_bytes, 4096);
    assert_int_equal(a.inplace_count, 2);
    assert_memory_equal(a.inplace, measured.inplace, sizeof a.inplace);
    assert_string_equal(a.implementation, measured.implementation);
    assert_int_equal(b.state, COST_FAILED);
    assert_string_equal(b.reason, "crashed (SIGSEGV)");
    assert_true(isinf(b.error));
    cost_store_close(store);
}

static void test_replaces_and_keeps_conditions_apart(void **state)
{
    struct fixture *f = *state;
    struct cost_store *store = open_store(f);
    put(store, 1, 10);
    put(store, 1, 20);
    assert_true(get(f, store, 1).cost_ns == 20);
    struct cost_conditions others[] = { conditions, conditions, conditions, conditions,
                                        conditions };
    others[0].backend = "onnxruntime";
    others[1].version = "3.2.1";
    others[2].device = "other";
    others[3].threads = 1;
    others[4].working_set_log2 = 21;
    for (size_t k = 0; k < 5; k++) {
        struct cost cost;
        struct error error = { 0 };
        cost_store_get(store, key_of(1), &others[k], f->arena, &cost, &error);
        assert_int_equal(cost.state, COST_UNKNOWN);
    }
    cost_store_close(store);
}

static void test_facts(void **state)
{
    struct fixture *f = *state;
    struct cost_store *store = open_store(f);
    struct error error = { 0 };
    bool found = true;
    double value;
    cost_store_get_fact(store, "switch", &conditions, &found, &value, &error);
    assert_false(found);
    cost_store_put_fact(store, "switch", &conditions, 21000.5, &error);
    cost_store_get_fact(store, "switch", &conditions, &found, &value, &error);
    assert_true(found && value == 21000.5);
    assert_int_equal(error.status, COLLAGE_OK);
    assert_int_not_equal(cost_store_put_fact(store, "bad", &conditions, (double)NAN, &error),
                         COLLAGE_OK);
    cost_store_close(store);
}

static void test_versions(void **state)
{
    struct fixture *f = *state;
    struct cost_store *store = open_store(f);
    struct error error = { 0 };
    const char *version = NULL;
    cost_store_find_version(store, &conditions, f->arena, &version, &error);
    assert_string_equal(version, "");
    static const char *const versions[] = { "3.9", "3.10.1", "3.2.0" };
    struct cost cost = { .state = COST_MEASURED, .implementation = "", .reason = "" };
    struct cost_conditions own = conditions, other = conditions;
    for (size_t k = 0; k < 3; k++) {
        own.version = versions[k];
        cost_store_put(store, key_of(k), &own, "Conv", &cost, &error);
    }
    other.version = "9.9";
    other.threads = 7;
    cost_store_put(store, key_of(1), &other, "Conv", &cost, &error);
    own.version = "not looked at";
    cost_store_find_version(store, &own, f->arena, &version, &error);
    assert_string_equal(version, "3.10.1");
    cost_store_find_version(store, &other, f->arena, &version, &error);
    assert_string_equal(version, "9.9");
    assert_int_equal(error.status, COLLAGE_OK);
    cost_store_close(store);
}

static void test_kill_loses_nothing_that_was_put(void **state)
{
    struct fixture *f = *state;
    enum { COUNT = 200 };
    pid_t child = fork();
    if (child == 0) {
        struct error error = { 0 };
        struct cost_store *store;
        struct cost cost = { .state = COST_MEASURED, .implementation = "", .reason = "" };
        if (cost_store_open(f->directory, &store, &error) != COLLAGE_OK)
            _exit(1);
        for (uint64_t k = 0; k < COUNT; k++) {
            cost.cost_ns = (double)k + 0.5;
            if (cost_store_put(store, key_of(k), &conditions, "", &cost, &error) != COLLAGE_OK)
                _exit(1);
        }
        kill(getpid(), SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    struct cost_store *store = open_store(f);
    for (uint64_t k = 0; k < COUNT; k++)
        assert_true(get(f, store, k).cost_ns == (double)k + 0.5);
    assert_string_equal(cost_store_warning(store), "");
    cost_store_close(store);
}

static void test_two_processes_write_at_once(void **state)
{
    struct fixture *f = *state;
    enum { PROCESSES = 3, COUNT = 60 };
    pid_t children[PROCESSES];
    for (uint64_t p = 0; p < PROCESSES; p++) {
        children[p] = fork();
        if (children[p] == 0) {
            struct error error = { 0 };
            struct cost_store *store;
            struct cost cost = { .state = COST_MEASURED, .implementation = "", .reason = "" };
            if (cost_store_open(f->directory, &store, &error) != COLLAGE_OK)
                _exit(1);
            for (uint64_t k = 0; k < COUNT; k++) {
                cost.cost_ns = (double)(p * 1000 + k);
                if (cost_store_put(store, key_of(p * 1000 + k), &conditions, "", &cost, &error))
                    _exit(2);
            }
            cost_store_close(store);
            _exit(0);
        }
    }
    for (size_t p = 0; p < PROCESSES; p++) {
        int status;
        waitpid(children[p], &status, 0);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    struct cost_store *store = open_store(f);
    for (uint64_t p = 0; p < PROCESSES; p++)
        for (uint64_t k = 0; k < COUNT; k++)
            assert_true(get(f, store, p * 1000 + k).cost_ns == (double)(p * 1000 + k));
    cost_store_close(store);
}

static void damage_and_reopen(struct fixture *f, size_t offset, const char *garbage, size_t count)
{
    char path[128];
    snprintf(path, sizeof path, "%s/costs.sqlite", f->directory);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, (long)offset, SEEK_SET);
    fwrite(garbage, 1, count, file);
    fclose(file);
    struct cost_store *store = open_store(f);
    assert_non_null(strstr(cost_store_warning(store), ".damaged"));
    assert_int_equal(get(f, store, 1).state, COST_UNKNOWN);
    put(store, 1, 7);
    assert_true(get(f, store, 1).cost_ns == 7);
    cost_store_close(store);
    snprintf(path, sizeof path, "%s/costs.sqlite.damaged", f->directory);
    assert_true(file_exists(path));
    store = open_store(f);
    assert_string_equal(cost_store_warning(store), "");
    assert_true(get(f, store, 1).cost_ns == 7);
    cost_store_close(store);
}

static void test_damaged_header_is_set_aside(void **state)
{
    struct fixture *f = *state;
    struct cost_store *store = open_store(f);
    put(store, 1, 5);
    cost_store_close(store);
    damage_and_reopen(f, 0, "this is no database at all", 26);
}

static void test_damaged_page_is_set_aside(void **state)
{
    struct fixture *f = *state;
    struct cost_store *store = open_store(f);
    for (uint64_t k = 0; k < 300; k++)
        put(store, k, 5);
    cost_store_close(store);
    char garbage[6000];
    memset(garbage, 0x5a, sizeof garbage);
    damage_and_reopen(f, 8192, garbage, sizeof garbage);
}

static void expect_new_store(struct fixture *f)
{
    struct cost_store *store = open_store(f);
    assert_non_null(strstr(cost_store_warning(store), "another version of Collage"));
    assert_non_null(strstr(cost_store_warning(store), "costs.sqlite.old"));
    put(store, 1, 7);
    cost_store_close(store);
    store = open_store(f);
    assert_string_equal(cost_store_warning(store), "");
    assert_true(get(f, store, 1).cost_ns == 7);
    cost_store_close(store);
    char path[128];
    snprintf(path, sizeof path, "%s/costs.sqlite.old", f->directory);
    assert_true(file_exists(path));
}

static void test_other_format_is_set_aside(void **state)
{
    struct fixture *f = *state;
    cost_store_close(open_store(f));
    char path[128];
    snprintf(path, sizeof path, "%s/costs.sqlite", f->directory);
    FILE *file = fopen(path, "r+b");
    fseek(file, 60, SEEK_SET); /* user_version, big-endian */
    fwrite("\0\0\0\x63", 1, 4, file);
    fclose(file);
    expect_new_store(f);
}

/* The first format had version 1 and fewer columns. */
static void test_older_schema_is_set_aside(void **state)
{
    struct fixture *f = *state;
    char path[128];
    snprintf(path, sizeof path, "%s/costs.sqlite", f->directory);
    sqlite3 *database;
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database,
                                  "CREATE TABLE costs (device TEXT, key TEXT);"
                                  "PRAGMA user_version = 1;",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(database);
    expect_new_store(f);
}

static void test_unwritable_directory(void **state)
{
    struct fixture *f = *state;
    char path[128];
    snprintf(path, sizeof path, "%s/plain", f->directory);
    FILE *file = fopen(path, "w");
    fclose(file);
    struct cost_store *store = NULL;
    struct error error = { 0 };
    assert_int_equal(cost_store_open(path, &store, &error), COLLAGE_ERROR_IO);
    assert_null(store);
    assert_non_null(strstr(error.text, path));
    assert_non_null(strstr(error.text, "COLLAGE_CACHE"));
    error_clear(&error);
    assert_int_equal(cost_store_open("/proc/self", &store, &error), COLLAGE_ERROR_IO);
    assert_non_null(strstr(error.text, "/proc/self"));
    if (geteuid() != 0) {
        error_clear(&error);
        chmod(f->directory, 0500);
        collage_status status = cost_store_open(f->directory, &store, &error);
        chmod(f->directory, 0700);
        assert_int_equal(status, COLLAGE_ERROR_IO);
        assert_non_null(strstr(error.text, "COLLAGE_CACHE"));
    }
}

static void test_in_memory(void **state)
{
    struct fixture *f = *state;
    struct error error = { 0 };
    struct cost_store *store;
    assert_int_equal(cost_store_open(NULL, &store, &error), COLLAGE_OK);
    put(store, 3, 4);
    assert_true(get(f, store, 3).cost_ns == 4);
    cost_store_close(store);
    cost_store_close(NULL);
}

static void test_out_of_memory(void **state)
{
    struct fixture *f = *state;
    collage_status status = COLLAGE_ERROR_MEMORY;
    for (size_t n = 1; status != COLLAGE_OK && n < 20; n++) {
        struct cost_store *store = NULL;
        struct error error = { 0 };
        memory_fail_after(n);
        status = cost_store_open(f->directory, &store, &error);
        memory_fail_after(0);
        assert_true(status == COLLAGE_OK ? store != NULL : store == NULL);
        if (status != COLLAGE_OK)
            assert_true(error.text[0] != '\0');
        cost_store_close(store);
    }
    assert_int_equal(status, COLLAGE_OK);
}

static void test_races(void **state)
{
    struct fixture *f = *state;
    struct cost_store *store = open_store(f);
    struct error error = { 0 };
    static const double samples[] = { 3.5, 2.25, 4 };
    const struct race_record put[] = {
        { .failure = "",
          .samples = samples,
          .sample_count = 3,
          .peak_bytes = 7,
          .worst_error = 1e-7,
          .again = 1.25 },
        { .failure = "crashed", .samples = NULL, .sample_count = 0 },
    };
    struct race_record got[3];
    bool found = true;
    assert_int_equal(cost_store_get_race(store, key_of(1), f->arena, got, 2, &found, &error), 0);
    assert_false(found);
    assert_int_equal(cost_store_put_race(store, key_of(1), put, 2, &error), COLLAGE_OK);
    assert_int_equal(cost_store_put_race(store, key_of(2), put, 1, &error), COLLAGE_OK);
    cost_store_close(store);

    store = open_store(f);
    assert_int_equal(cost_store_get_race(store, key_of(1), f->arena, got, 2, &found, &error), 0);
    assert_true(found);
    assert_int_equal(got[0].sample_count, 3);
    assert_memory_equal(got[0].samples, samples, sizeof samples);
    assert_int_equal(got[0].peak_bytes, 7);
    assert_true(got[0].worst_error == 1e-7);
    assert_true(got[0].again == 1.25);
    assert_true(got[1].again == 0);
    assert_string_equal(got[1].failure, "crashed");
    assert_int_equal(got[1].sample_count, 0);
    /* a race of more contestants is another race */
    assert_int_equal(cost_store_get_race(store, key_of(1), f->arena, got, 3, &found, &error), 0);
    assert_false(found);
    cost_store_close(store);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_round_trip),
        CASE(test_replaces_and_keeps_conditions_apart),
        CASE(test_facts),
        CASE(test_versions),
        CASE(test_races),
        CASE(test_kill_loses_nothing_that_was_put),
        CASE(test_two_processes_write_at_once),
        CASE(test_damaged_header_is_set_aside),
        CASE(test_damaged_page_is_set_aside),
        CASE(test_other_format_is_set_aside),
        CASE(test_older_schema_is_set_aside),
        CASE(test_unwritable_directory),
        CASE(test_in_memory),
        CASE(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
