/* SPDX-License-Identifier: Apache-2.0 */
/* Looking through a store, throwing costs away, taking other stores in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/file.h"
#include "cost/exchange.h"
#include "cost/manage.h"

/* Two folders with a store each. */
struct fixture {
    char folders[2][64];
    struct arena *arena;
    struct cost_store *store; /* of the first; open */
};

static void open_store(struct fixture *f, int which, struct cost_store **out)
{
    struct error error = { 0 };
    if (cost_store_open(f->folders[which], out, &error))
        fail_msg("%s", error.text);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->arena = arena_create();
    for (int k = 0; k < 2; k++) {
        snprintf(f->folders[k], sizeof f->folders[k], "/tmp/collage-manage-XXXXXX");
        if (!mkdtemp(f->folders[k]))
            return -1;
    }
    open_store(f, 0, &f->store);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = { "costs.sqlite", "costs.sqlite-wal", "costs.sqlite-shm",
                                         "costs.lock", "file" };
    int left = 0;
    cost_store_close(f->store);
    for (int k = 0; k < 2; k++) {
        for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
            char path[128];
            snprintf(path, sizeof path, "%s/%s", f->folders[k], names[n]);
            unlink(path);
        }
        left |= rmdir(f->folders[k]);
    }
    arena_destroy(f->arena);
    free(f);
    return left;
}

struct row {
    const char *backend, *version, *device, *description;
    bool failed;
    double cost_ns;
};

static const struct row rows[] = {
    { "onednn", "3.1", "here", "Conv+Relu -> 1x64 blocked", false, 1000 },
    { "onednn", "3.2", "here", "Conv -> 1x64 blocked", false, 2000 },
    { "onednn", "3.2", "there", "Relu -> 1x64 ", true, 0 },
    { "onednn", "3.2", "here", "transition 1x64 plain -> acdb", false, 3000 },
    { "openvino", "2024", "here", "Conv+Add+Relu+Mul+Add+Relu+... -> 1x9 ", false, 4000 },
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static struct cost_conditions conditions_of(const struct row *row)
{
    return (struct cost_conditions){ row->backend, row->version, row->device, 2, 20 };
}

static void put(struct cost_store *store, uint64_t key, const struct row *row)
{
    const struct cost cost = { .state = row->failed ? COST_FAILED : COST_MEASURED,
                               .cost_ns = row->cost_ns,
                               .implementation = "",
                               .reason = row->failed ? "crashed\x1b[2J\n" : "" };
    const struct cost_conditions conditions = conditions_of(row);
    struct error error = { 0 };
    if (cost_store_put(store, (struct hash){ key, 0 }, &conditions, row->description, &cost,
                       &error))
        fail_msg("%s", error.text);
}

static void put_all(struct cost_store *store)
{
    for (size_t k = 0; k < ROWS; k++)
        put(store, k, &rows[k]);
}

static double cost_of(struct fixture *f, uint64_t key, const struct row *row)
{
    const struct cost_conditions conditions = conditions_of(row);
    struct cost cost;
    struct error error = { 0 };
    if (cost_store_get(f->store, (struct hash){ key, 0 }, &conditions, f->arena, &cost, &error))
        fail_msg("%s", error.text);
    return cost.state == COST_MEASURED ? cost.cost_ns : -1;
}

/* One kernel on two machines: each has its own cost, and they stay beside each other. */
static void two_machines_live_side_by_side(void **state)
{
    struct fixture *f = *state;
    const struct row here = { "onednn", "3.2", "here", "Conv -> 1x64 ", false, 1000 };
    const struct row there = { "onednn", "3.2", "there", "Conv -> 1x64 ", false, 7000 };
    const struct cost_filter all = { .backend = "onednn" }, gone = { .device = "there" };
    const struct device_facts facts = { .fingerprint = "here", .name = "A machine, 2 cores" };
    struct error error = { 0 };
    struct text text = { 0 };
    uint64_t removed, left;
    put(f->store, 1, &here);
    put(f->store, 1, &there);
    put(f->store, 2, &there);
    assert_true(cost_of(f, 1, &here) == 1000 && cost_of(f, 1, &there) == 7000);
    assert_true(cost_of(f, 2, &here) < 0);
    assert_int_equal(cost_store_list_devices(f->store, &all, &facts, &text, &error), COLLAGE_OK);
    assert_string_equal(text.bytes, "machine here: costs: 1; this one, A machine, 2 cores\n"
                                    "machine there: costs: 2\n");
    text_free(&text);
    assert_int_equal(cost_store_prune(f->store, &gone, &removed, &left, &error), COLLAGE_OK);
    assert_true(removed == 2 && left == 1 && cost_of(f, 1, &here) == 1000);
}

/* Runs SQL on the store of a folder, as another program would. */
static void run_sql(const struct fixture *f, int which, const char *sql)
{
    char path[128];
    sqlite3 *database;
    snprintf(path, sizeof path, "%s/costs.sqlite", f->folders[which]);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    sqlite3_busy_timeout(database, 5000);
    char *message = NULL;
    if (sqlite3_exec(database, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    sqlite3_close(database);
}

/* ---- which costs ---- */

static const struct cost_library libraries[] = { { "onednn", "3.2" }, { "openvino", NULL } };

static const struct {
    struct cost_filter filter;
    unsigned fits; /* a bit a row */
} filters[] = {
    { { .backend = NULL }, 0x1f },
    { { .backend = "onednn" }, 0x0f },
    { { .backend = "onednn", .device = "there" }, 0x04 },
    { { .device = "nowhere" }, 0 },
    { { .op_type = "Conv" }, 0x13 },
    { { .op_type = "Relu" }, 0x15 },
    { { .op_type = "Mul" }, 0x10 },
    { { .op_type = "Con" }, 0 },
    { { .op_type = "1x64" }, 0 },
    { { .op_type = "transition" }, 0x08 },
    { { .failed = true }, 0x04 },
    { { .older_seconds = 3600 }, 0 },
    { { .installed = libraries, .installed_count = 2 }, 0x01 }, /* 3.1 is gone; openvino's stay */
    { { .installed = libraries, .installed_count = 1 }, 0x11 },
    { { .op_type = "' OR 1 --" }, 0 },
};

static unsigned count_bits(unsigned bits)
{
    unsigned count = 0;
    for (; bits; bits >>= 1)
        count += bits & 1;
    return count;
}

static void listing_and_pruning_choose_the_same(void **state)
{
    struct fixture *f = *state;
    for (size_t k = 0; k < sizeof filters / sizeof filters[0]; k++) {
        struct text text = { 0 };
        struct error error = { 0 };
        uint64_t listed = 77, removed = 77, left = 77;
        put_all(f->store);
        assert_int_equal(cost_store_list(f->store, &filters[k].filter, &text, &listed, &error), 0);
        if (listed != count_bits(filters[k].fits))
            fail_msg("filter %zu: %d costs\n%s", k, (int)listed, text.bytes ? text.bytes : "");
        for (size_t c = 0; c < text.count; c++)
            assert_true(text.bytes[c] == '\n' || (unsigned char)text.bytes[c] >= 0x20);
        text_free(&text);
        assert_int_equal(cost_store_prune(f->store, &filters[k].filter, &removed, &left, &error),
                         0);
        assert_int_equal(removed, listed);
        assert_int_equal(left, ROWS - listed);
        for (size_t r = 0; r < ROWS; r++)
            if (!rows[r].failed)
                assert_true((cost_of(f, r, &rows[r]) >= 0) == !(filters[k].fits >> r & 1));
    }
}

static void ages_count_from_the_last_change(void **state)
{
    struct fixture *f = *state;
    const struct cost_filter old = { .older_seconds = 1000 };
    uint64_t removed, left, count;
    struct text text = { 0 };
    put_all(f->store);
    run_sql(f, 0, "UPDATE ages SET since = since - 5000");
    put(f->store, 1, &rows[1]); /* measured again */
    assert_int_equal(cost_store_list(f->store, &old, &text, &count, NULL), COLLAGE_OK);
    assert_int_equal(count, ROWS - 1);
    assert_non_null(strstr(text.bytes, " 1 h  "));
    text_free(&text);
    assert_int_equal(cost_store_prune(f->store, &old, &removed, &left, NULL), COLLAGE_OK);
    assert_int_equal(removed, ROWS - 1);
    assert_true(cost_of(f, 1, &rows[1]) == rows[1].cost_ns);
    put_all(f->store); /* what comes back is new */
    assert_int_equal(cost_store_prune(f->store, &old, &removed, &left, NULL), COLLAGE_OK);
    assert_int_equal(removed, 0);
}

/* A store from before there were ages: nothing is set aside, and what is in it counts as new. */
static void older_stores_get_ages(void **state)
{
    struct fixture *f = *state;
    const struct cost_filter any = { .older_seconds = 0 }, old = { .older_seconds = 1000 };
    struct text text = { 0 };
    uint64_t count;
    put_all(f->store);
    cost_store_close(f->store);
    run_sql(f, 0,
            "DROP TRIGGER cost_came; DROP TRIGGER cost_changed; DROP TRIGGER cost_went;"
            "DROP TABLE ages;");
    open_store(f, 0, &f->store);
    assert_string_equal(cost_store_warning(f->store), "");
    assert_int_equal(cost_store_list(f->store, &any, &text, &count, NULL), COLLAGE_OK);
    assert_int_equal(count, ROWS);
    assert_non_null(strstr(text.bytes, " 0 min  "));
    text_free(&text);
    assert_int_equal(cost_store_list(f->store, &old, &text, &count, NULL), COLLAGE_OK);
    assert_int_equal(count, 0);
    text_free(&text);
}

/* ---- other stores ---- */

static collage_status merge(struct fixture *f, const char *path, enum cost_conflict conflict,
                            uint64_t *count, struct error *error)
{
    error_clear(error);
    return cost_store_merge(f->store, path, conflict, count, error);
}

static void the_better_cost_wins(void **state)
{
    struct fixture *f = *state;
    struct cost_store *other;
    struct error error = { 0 };
    uint64_t count;
    char path[128];
    struct row mine[] = { rows[0], rows[1], rows[2] }, theirs[] = { rows[0], rows[1], rows[2] };
    theirs[0].cost_ns = 900;  /* lower */
    theirs[1].cost_ns = 2100; /* higher */
    theirs[2].failed = false; /* measured after all */
    theirs[2].cost_ns = 70;
    open_store(f, 1, &other);
    for (uint64_t k = 0; k < 3; k++) {
        put(f->store, k, &mine[k]);
        put(other, k, &theirs[k]);
    }
    put(other, 3, &rows[3]); /* new */
    snprintf(path, sizeof path, "%s/costs.sqlite", f->folders[1]);
    for (int closed = 0; closed < 2; closed++) { /* while another has it open, and after that */
        assert_int_equal(merge(f, path, COST_BETTER_WINS, &count, &error), COLLAGE_OK);
        assert_int_equal(count, closed ? 0 : 3);
        assert_true(cost_of(f, 0, &rows[0]) == 900);
        assert_true(cost_of(f, 1, &rows[1]) == 2000);
        assert_true(cost_of(f, 2, &rows[2]) == 70);
        assert_true(cost_of(f, 3, &rows[3]) == 3000);
        if (!closed)
            cost_store_close(other);
    }
    assert_int_equal(merge(f, f->folders[1], COST_IS_REPLACED, &count, &error), COLLAGE_OK);
    assert_int_equal(count, 4);
    assert_true(cost_of(f, 1, &rows[1]) == 2100);
    put(f->store, 2, &rows[2]); /* a failure does not win */
    open_store(f, 1, &other);
    put(other, 0, &rows[2]);
    cost_store_close(other);
    if (merge(f, f->folders[1], COST_BETTER_WINS, &count, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(count, 2); /* a failure that is new, and 70 for the failure that we have */
}

/* A file from anywhere: what only looks like a store is refused, and nothing is taken. */
static void hostile_stores_are_refused(void **state)
{
    struct fixture *f = *state;
    static const char *const changes[] = {
        "ALTER TABLE costs RENAME TO hidden;" /* without end */
        "CREATE VIEW costs AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n)"
        " SELECT x AS device FROM n;",
        "ALTER TABLE costs ADD COLUMN more TEXT;",
        "PRAGMA user_version = 5;",
        "DROP TABLE costs;",
        "UPDATE costs SET threads = -3;",
        "UPDATE costs SET key = 'x' || key;",
        "UPDATE costs SET cost_ns = 'soon';",
        "UPDATE costs SET reason = char(7);",
    };
    for (size_t k = 0; k < sizeof changes / sizeof changes[0]; k++) {
        struct cost_store *other;
        struct error error = { 0 };
        uint64_t count = 77;
        char path[128];
        open_store(f, 1, &other);
        put_all(other);
        cost_store_close(other);
        run_sql(f, 1, changes[k]);
        collage_status status = merge(f, f->folders[1], COST_BETTER_WINS, &count, &error);
        if (k == 6) { /* text in a number's place is the number 0 */
            if (status != COLLAGE_OK)
                fail_msg("%s", error.text);
        } else {
            if (status == COLLAGE_OK)
                fail_msg("taken: %s", changes[k]);
            assert_int_equal(count, 0);
            assert_non_null(strstr(error.text, f->folders[1]));
        }
        snprintf(path, sizeof path, "%s/costs.sqlite", f->folders[1]);
        unlink(path);
    }
}

static void what_is_no_store_is_refused(void **state)
{
    struct fixture *f = *state;
    struct error error = { 0 };
    uint64_t count;
    char path[128];
    assert_int_equal(merge(f, f->folders[1], COST_STAYS, &count, &error), COLLAGE_ERROR_IO);
    snprintf(path, sizeof path, "%s/file", f->folders[1]);
    static const char *const contents[] = { "", "hello", "SQLite format 3", "{}" };
    for (size_t k = 0; k < sizeof contents / sizeof contents[0]; k++) {
        assert_int_equal(file_write(path, contents[k], strlen(contents[k]) + (k == 2), NULL), 0);
        assert_int_not_equal(merge(f, path, COST_STAYS, &count, &error), COLLAGE_OK);
        assert_non_null(strstr(error.text, path));
        assert_int_equal(count, 0);
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(listing_and_pruning_choose_the_same),
        CASE(ages_count_from_the_last_change),
        CASE(older_stores_get_ages),
        CASE(two_machines_live_side_by_side),
        CASE(the_better_cost_wins),
        CASE(hostile_stores_are_refused),
        CASE(what_is_no_store_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
