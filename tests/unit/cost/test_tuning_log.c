/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning logs: what is written is read again, the best of each kernel stays, what is none is
 * refused with its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "cost/tuning_log.h"

#define FOLDER COLLAGE_TEST_DATA "/tuning-log"
#define PATH   FOLDER "/t.log"
#define KEY    "00000000000000010000000000000002"

static const struct cost_conditions here = { "native", "1 (a b)", "machine", 2, 20 };

static void ok(collage_status status, const struct error *error)
{
    if (status != COLLAGE_OK)
        fail_msg("%s", error->text);
}

static int set_up(void **state)
{
    (void)state;
    (void)unlink(PATH);
    return file_make_directory(FOLDER, NULL) == COLLAGE_OK ? 0 : -1;
}

static struct tuning_log *create(void)
{
    struct tuning_log *log;
    struct error error = { 0 };
    ok(tuning_log_create(&log, &error), &error);
    return log;
}

static struct tuning_record record(uint64_t key, int32_t threads, double ns, const char *schedule)
{
    return (struct tuning_record){ .backend = here.backend,
                                   .version = here.version,
                                   .device = here.device,
                                   .threads = threads,
                                   .key = { .low = key },
                                   .ns = ns,
                                   .schedule = schedule };
}

static void put(struct tuning_log *log, const struct tuning_record *made)
{
    struct error error = { 0 };
    ok(tuning_log_put(log, made, &error), &error);
}

static void reads(struct tuning_log *log)
{
    struct error error = { 0 };
    ok(tuning_log_read(log, PATH, false, &error), &error);
}

static void writes(const struct tuning_log *log)
{
    struct error error = { 0 };
    ok(tuning_log_write(log, PATH, &error), &error);
}

static void round_trip(void **state)
{
    (void)state;
    struct tuning_log *log = create(), *again = create();
    for (uint64_t k = 100; k-- > 0;) {
        const struct tuning_record made = record(k * 7919 % 101, 2, (double)k + 0.5, "tiles=4");
        put(log, &made);
    }
    const struct tuning_record other = record(3, 4, 2.0, "a b");
    put(log, &other); /* other threads: another record */
    assert_int_equal(log->count, 101);
    for (size_t k = 1; k < log->count; k++)
        assert_true(log->records[k - 1].key.low <= log->records[k].key.low);
    writes(log);
    reads(again);
    assert_int_equal(again->count, 101);
    for (size_t k = 0; k < log->count; k++) {
        assert_true(hash_equal(log->records[k].key, again->records[k].key));
        assert_string_equal(log->records[k].version, again->records[k].version);
        assert_string_equal(log->records[k].schedule, again->records[k].schedule);
        assert_int_equal(log->records[k].threads, again->records[k].threads);
        assert_true(again->records[k].ns >= log->records[k].ns &&
                    again->records[k].ns < log->records[k].ns + 1);
    }
    tuning_log_destroy(log);
    tuning_log_destroy(again);
}

static void found_replaced_removed(void **state)
{
    (void)state;
    struct tuning_log *log = create();
    const struct hash key = { .low = 5 };
    assert_null(tuning_log_find(log, key, &here));
    const struct tuning_record first = record(5, 2, 10, "a"), second = record(5, 2, 20, "b");
    put(log, &first);
    put(log, &second); /* put replaces, even by a slower one: it is what was found last */
    assert_int_equal(log->count, 1);
    assert_string_equal(tuning_log_find(log, key, &here)->schedule, "b");
    struct cost_conditions elsewhere = here;
    elsewhere.threads = 1;
    assert_null(tuning_log_find(log, key, &elsewhere));
    elsewhere = here;
    elsewhere.version = NULL; /* not known */
    assert_null(tuning_log_find(log, key, &elsewhere));
    tuning_log_remove(log, key, &elsewhere);
    assert_int_equal(log->count, 1);
    tuning_log_remove(log, key, &here);
    assert_int_equal(log->count, 0);
    /* What no line can hold is not kept. */
    struct tuning_record odd = record(6, 2, 1, "a");
    odd.version = "1\t2";
    put(log, &odd);
    odd.version = "";
    put(log, &odd);
    assert_int_equal(log->count, 0);
    tuning_log_destroy(log);
}

static void fill(const char *text)
{
    struct error error = { 0 };
    ok(file_write(PATH, text, strlen(text), &error), &error);
}

/* Of two records of one kernel the faster one stays, in whatever order. */
static void merges_to_the_best(void **state)
{
    (void)state;
    struct tuning_log *log = create();
    fill("collage_tuning 1\n"
         "# a remark\n"
         "native\t1 (a b)\tmachine\t2\t" KEY "\t30\tslow\n"
         "\n"
         "native\t1 (a b)\tmachine\t2\t" KEY "\t20\tfast\n"
         "native\t1 (a b)\tmachine\t2\t" KEY "\t25\tbetween"); /* no end of line: fine */
    reads(log);
    assert_int_equal(log->count, 1);
    const struct hash key = { .high = 1, .low = 2 };
    assert_string_equal(tuning_log_find(log, key, &here)->schedule, "fast");
    fill("collage_tuning 1\nnative\t1 (a b)\tmachine\t2\t" KEY "\t10\tfaster\n");
    reads(log); /* on top */
    assert_int_equal(log->count, 1);
    assert_string_equal(tuning_log_find(log, key, &here)->schedule, "faster");
    tuning_log_destroy(log);
}

#define GOOD "native\t1\tmachine\t2\t" KEY "\t30\ts=1\n"

static void hostile_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } bad[] = {
        { "", "t.log:1: this is no tuning log" },
        { "collage_tuning 2\n", "t.log:1: this is no tuning log" },
        { "collage_tuning 1\r\n" GOOD, "t.log:1: this is no tuning log" },
        { "collage_tuning 1\n" GOOD "native\t1\n", "t.log:3: a record has 7 fields" },
        { "collage_tuning 1\nnative\t1\tm\t2\t" KEY "\t30\ts\tmore\n", "7 fields" },
        { "collage_tuning 1\n\t1\tm\t2\t" KEY "\t30\ts\n", "t.log:2: the backend is not" },
        { "collage_tuning 1\nnative\t\tm\t2\t" KEY "\t30\ts\n", "the version is not" },
        { "collage_tuning 1\nnative\t1\t\x1b[31m\t2\t" KEY "\t30\ts\n", "the device is not" },
        { "collage_tuning 1\nnative\t1\tm\t0\t" KEY "\t30\ts\n", "the number of threads" },
        { "collage_tuning 1\nnative\t1\tm\t-2\t" KEY "\t30\ts\n", "the number of threads" },
        { "collage_tuning 1\nnative\t1\tm\t4097\t" KEY "\t30\ts\n", "the number of threads" },
        { "collage_tuning 1\nnative\t1\tm\t2\t1234\t30\ts\n", "the key is not" },
        { "collage_tuning 1\nnative\t1\tm\t2\t" KEY "\t0\ts\n", "the time is no" },
        { "collage_tuning 1\nnative\t1\tm\t2\t" KEY "\tnan\ts\n", "the time is no" },
        { "collage_tuning 1\nnative\t1\tm\t2\t" KEY "\t1e3\ts\n", "the time is no" },
        { "collage_tuning 1\nnative\t1\tm\t2\t" KEY "\t99999999999999999999\ts\n",
          "the time is no" },
        { "collage_tuning 1\nnative\t1\tm\t2\t" KEY "\t30\t\n", "the schedule is not" },
        { "collage_tuning 1\nnative\t1\tm\t2\t" KEY "\t30\t s\n", "the schedule is not" },
        { "collage_tuning 1\nnative\t1\tm\t2\t" KEY "\t30\t\xc3\xa4\n", "the schedule is not" },
        { "collage_tuning 1\nnative\t1\tm\t2\t" KEY "\t30\ts\r\n", "the schedule is not" },
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        struct tuning_log *log = create();
        struct error error = { 0 };
        fill(bad[k].text);
        assert_int_equal(tuning_log_read(log, PATH, true, &error), COLLAGE_ERROR_FORMAT);
        if (!strstr(error.text, bad[k].words))
            fail_msg("%zu: '%s' does not say '%s'", k, error.text, bad[k].words);
        tuning_log_destroy(log);
    }
}

static void long_lines_and_nothing(void **state)
{
    (void)state;
    char text[3000] = "collage_tuning 1\n#";
    struct tuning_log *log = create();
    struct error error = { 0 };
    memset(text + strlen(text), 'x', 2000);
    fill(text);
    assert_int_equal(tuning_log_read(log, PATH, false, &error), COLLAGE_ERROR_FORMAT);
    assert_non_null(strstr(error.text, "t.log:2: this is no line of text"));
    error = (struct error){ 0 };
    ok(file_write(PATH, "collage_tuning 1\n\0", 18, &error), &error);
    assert_int_equal(tuning_log_read(log, PATH, false, &error), COLLAGE_ERROR_FORMAT);
    unlink(PATH);
    error = (struct error){ 0 };
    ok(tuning_log_read(log, PATH, true, &error), &error);
    assert_int_equal(tuning_log_read(log, PATH, false, &error), COLLAGE_ERROR_IO);
    assert_int_equal(log->count, 0);
    /* A folder that is not there: nothing is left behind. */
    error = (struct error){ 0 };
    assert_int_equal(tuning_log_write(log, FOLDER "/none/t.log", &error), COLLAGE_ERROR_IO);
    tuning_log_destroy(log);
}

/* Damaged anywhere: read or refused, and what is read can be written and read again. */
static void damage(void **state)
{
    (void)state;
    static const char good[] =
        "collage_tuning 1\n" GOOD "native\t2\tmachine\t2\t" KEY "\t30\ts=1 b=2\n";
    char text[sizeof good];
    srand(1);
    for (int round = 0; round < 3000; round++) {
        struct tuning_log *log = create();
        struct error error = { 0 };
        memcpy(text, good, sizeof good);
        for (int k = 0; k <= rand() % 3; k++)
            text[(size_t)rand() % (sizeof good - 1)] = (char)(rand() % 256);
        ok(file_write(PATH, text, sizeof good - 1, &error), &error);
        if (tuning_log_read(log, PATH, false, &error) == COLLAGE_OK) {
            struct tuning_log *again = create();
            writes(log);
            reads(again);
            assert_int_equal(again->count, log->count);
            tuning_log_destroy(again);
        } else {
            assert_int_equal(error.status, COLLAGE_ERROR_FORMAT);
        }
        tuning_log_destroy(log);
    }
}

static collage_status there_and_back(void)
{
    struct tuning_log *log;
    collage_status status = tuning_log_create(&log, NULL);
    if (status == COLLAGE_OK)
        status = tuning_log_read(log, PATH, false, NULL);
    if (status == COLLAGE_OK)
        status = tuning_log_write(log, PATH, NULL);
    tuning_log_destroy(log);
    return status;
}

static void out_of_memory_is_an_error(void **state)
{
    (void)state;
    fill("collage_tuning 1\n" GOOD);
    collage_status status = COLLAGE_ERROR_MEMORY;
    size_t n = 1;
    for (; status != COLLAGE_OK && n < 1000; n++) {
        memory_fail_after(n);
        status = there_and_back();
        memory_fail_after(0);
        assert_true(status == COLLAGE_OK || status == COLLAGE_ERROR_MEMORY);
        struct tuning_log *log = create(); /* the file is whole, whatever happened */
        reads(log);
        assert_int_equal(log->count, 1);
        tuning_log_destroy(log);
    }
    assert_true(status == COLLAGE_OK && n > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(round_trip, set_up),
        cmocka_unit_test_setup(found_replaced_removed, set_up),
        cmocka_unit_test_setup(merges_to_the_best, set_up),
        cmocka_unit_test_setup(hostile_lines, set_up),
        cmocka_unit_test_setup(long_lines_and_nothing, set_up),
        cmocka_unit_test_setup(damage, set_up),
        cmocka_unit_test_setup(out_of_memory_is_an_error, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
