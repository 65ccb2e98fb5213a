/* SPDX-License-Identifier: Apache-2.0 */
/* Peers that behave, and peers that do not: tests/peers/fake_peer.py, one race for all. */
#include "worker_fixture.h"

#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "tensor/npy.h"

#define FAKE_PEER COLLAGE_TESTS "/peers/fake_peer.py"

/* What the peer does, and the beginning of its failure: "" if it must finish. */
struct behaviour {
    const char *fault, *failure;
    double answer_seconds; /* 0: the usual */
};

static const struct behaviour behaviours[] = {
    { "none", "", 0 },
    { "chatty", "", 0 },
    { "nobody", "", 0 },
    { "absent at hello", "absent: no module named 'fake'", 0 },
    { "protocol", "speaks another protocol than 1", 0 },
    { "threads", "does not run on 1 thread", 0 },
    { "precision", "computes in bfloat16, not in float32", 0 },
    { "error at load", "no conversion of Conv", 0 },
    { "wrong", "wrong result: output 'output' differs by ", 0 },
    { "missing", "wrote no file with output 'output'", 0 },
    { "pipe", "wrote no file with output 'output'", 0 },
    { "cut", "wrong result: the file with output 'output' is no row-major .npy file", 0 },
    { "huge", "wrong result: the file with output 'output' is too large", 0 },
    { "shape", "wrong result: output 'output' is 10x1 float32, not 1x10 float32", 0 },
    { "crash at hello", "crashed (SIGSEGV)", 0 },
    { "crash at load", "crashed (SIGSEGV)", 0 },
    { "crash at run", "crashed (SIGSEGV)", 0 },
    { "leave at hello", "ended the process (exit status 3); it printed: the last words", 0 },
    { "leave at load", "ended the process (exit status 3); it printed: the last words", 0 },
    { "leave at run", "ended the process (exit status 3); it printed: the last words", 0 },
    { "close at load", "crashed (SIGKILL)", 0 },
    { "hang at load", "timed out after 3 s", 3 },
    { "garbage at hello", "its answer is not of the protocol", 0 },
    { "garbage at run", "its answer is not of the protocol", 0 },
    { "list at load", "its answer is not of the protocol", 0 },
    { "deep at load", "its answer is not of the protocol", 0 },
    { "two at load", "its answer is not of the protocol", 0 },
    { "long at load", "its answer is too long", 0 },
    { "null at run", "gave 0 times (times_ns) for 1 runs", 0 },
    { "nothing at run", "gave 0 times (times_ns) for 1 runs", 0 },
    { "text at run", "gave 3 times (times_ns) for 1 runs", 0 },
    { "few", "gave 0 times (times_ns) for 1 runs", 0 },
    { "negative", "gave a senseless time for run 0", 0 },
    { "zero", "gave a senseless time for run 0", 0 },
    { "nan", "its answer is not of the protocol", 0 },
    { "infinite", "its answer is not of the protocol", 0 },
    { "microseconds", "its times do not add up: ", 0 },
    { "double", "says that ", 0 },
};
enum { BEHAVIOUR_COUNT = sizeof behaviours / sizeof behaviours[0], FINISHING = 3 };

struct peers {
    char script[256], python[16], faults[BEHAVIOUR_COUNT][32];
    char *arguments[BEHAVIOUR_COUNT][4];
    struct peer items[BEHAVIOUR_COUNT];
    struct contestant contestants[BEHAVIOUR_COUNT];
};

static struct contestant *make_peers(struct peers *peers, const struct behaviour *list,
                                     size_t count)
{
    snprintf(peers->script, sizeof peers->script, "%s", FAKE_PEER);
    snprintf(peers->python, sizeof peers->python, "python3");
    for (size_t k = 0; k < count; k++) {
        snprintf(peers->faults[k], sizeof peers->faults[k], "%s", list[k].fault);
        peers->arguments[k][0] = peers->python;
        peers->arguments[k][1] = peers->script;
        peers->arguments[k][2] = peers->faults[k];
        peers->items[k] = (struct peer){ .name = list[k].fault,
                                         .arguments = peers->arguments[k],
                                         .answer_seconds = list[k].answer_seconds };
        peers->contestants[k] =
            (struct contestant){ .peer = &peers->items[k], .backend = UINT32_MAX };
    }
    return peers->contestants;
}

/* The right output, for the fake peer; the folder for its files is the fixture's. */
static void prepare(const struct fixture *f)
{
    struct error error = { 0 };
    char path[256];
    snprintf(path, sizeof path, "%s/right.npy", f->directory);
    struct tensor output = oracle_value(f->oracle, f->graph->outputs[0]);
    ASSERT_OK(npy_write(path, &output, &error), error);
    setenv("FAKE_PEER_OUTPUT", path, 1);
    setenv("TMPDIR", f->directory, 1);
}

static void assert_no_folder_left(const struct fixture *f)
{
    DIR *directory = opendir(f->directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (strncmp(entry->d_name, "collage-peers-", 14) == 0)
            fail_msg("%s is left", entry->d_name);
    closedir(directory);
}

static void test_each_only_harms_itself(void **state)
{
    struct fixture *f = *state;
    struct peers *peers = calloc(1, sizeof *peers);
    prepare(f);
    struct contestant *all = make_peers(peers, behaviours, BEHAVIOUR_COUNT);
    const struct race_rules rules = { .seconds = 0.1 };
    struct error error = { 0 };
    ASSERT_OK(race_run(&f->setup, f->registry, all, BEHAVIOUR_COUNT, &rules, &error), error);
    for (size_t k = 0; k < BEHAVIOUR_COUNT; k++) {
        const char *expected = behaviours[k].failure;
        if (strncmp(all[k].failure, expected, strlen(expected)) != 0 ||
            (!*expected && all[k].failure[0]))
            fail_msg("%s: '%s', not '%s'", behaviours[k].fault, all[k].failure, expected);
        assert_int_equal(all[k].samples != NULL, k < FINISHING);
        for (size_t s = 0; s < all[k].sample_count; s++)
            assert_true(all[k].samples[s] >= 200000 && all[k].samples[s] < 60e9);
    }
    assert_string_equal(all[0].about, "Fake 1.0, no model");
    assert_string_equal(all[2].about, "nobody");
    assert_true(all[0].sample_count >= 10 && all[0].sample_count == all[1].sample_count);
    assert_true(all[0].peak_bytes > 1000000);
    for (size_t k = 0; k < FINISHING; k++)
        memory_free(all[k].samples);
    assert_no_folder_left(f);
    free(peers);
}

/* ---- nothing is left behind ---- */

static bool is_running(long pid)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "re");
    if (file) {
        (void)!fgets(line, sizeof line, file);
        fclose(file);
    }
    const char *after = strrchr(line, ')');
    return after && after[2] != 'Z';
}

static void assert_all_ended(const char *note)
{
    long pids[4];
    FILE *file = fopen(note, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld %ld %ld", &pids[0], &pids[1], &pids[2], &pids[3]), 4);
    fclose(file);
    for (size_t k = 0; k < 4; k++) {
        for (int wait = 0; wait < 100 && is_running(pids[k]); wait++)
            usleep(20000);
        if (is_running(pids[k]))
            fail_msg("process %zu of the peer is left", k);
    }
}

static void test_a_hang_leaves_nobody(void **state)
{
    struct fixture *f = *state;
    static const struct behaviour hang[] = { { "hang at run", "timed out after 5 s", 5 } };
    struct peers *peers = calloc(1, sizeof *peers);
    char note[256];
    prepare(f);
    snprintf(note, sizeof note, "%s/note", f->directory);
    setenv("FAKE_PEER_NOTE", note, 1);
    struct contestant *all = make_peers(peers, hang, 1);
    const struct race_rules rules = { .seconds = 0.1 };
    struct error error = { 0 };
    ASSERT_OK(race_run(&f->setup, f->registry, all, 1, &rules, &error), error);
    assert_string_equal(all[0].failure, hang[0].failure);
    assert_all_ended(note);
    assert_no_folder_left(f);
    unsetenv("FAKE_PEER_NOTE");
    free(peers);
}

static bool until_the_file_is_there(void *user, size_t round, size_t rounds)
{
    (void)round, (void)rounds;
    return !file_exists(user);
}

static void test_an_interrupt_leaves_nobody(void **state)
{
    struct fixture *f = *state;
    static const struct behaviour hang[] = { { "none", "", 0 }, { "hang at load", "", 0 } };
    struct peers *peers = calloc(1, sizeof *peers);
    char note[256];
    prepare(f);
    snprintf(note, sizeof note, "%s/note", f->directory);
    setenv("FAKE_PEER_NOTE", note, 1);
    struct contestant *all = make_peers(peers, hang, 2);
    const struct race_rules rules = { .seconds = 0.1,
                                      .progress = until_the_file_is_there,
                                      .user = note };
    struct error error = { 0 };
    uint64_t start = clock_ns();
    assert_int_equal(race_run(&f->setup, f->registry, all, 2, &rules, &error),
                     COLLAGE_ERROR_INTERRUPTED);
    assert_true((double)(clock_ns() - start) < 60e9);
    assert_all_ended(note);
    assert_no_folder_left(f);
    unsetenv("FAKE_PEER_NOTE");
    free(peers);
}

static void test_a_program_that_is_not_there(void **state)
{
    struct fixture *f = *state;
    char program[] = "/nowhere/peer";
    char *arguments[] = { program, NULL };
    const struct peer peer = { .name = "nowhere", .arguments = arguments };
    struct contestant contestant = { .peer = &peer, .backend = UINT32_MAX };
    const struct race_rules rules = { .seconds = 0.1 };
    struct error error = { 0 };
    prepare(f);
    ASSERT_OK(race_run(&f->setup, f->registry, &contestant, 1, &rules, &error), error);
    assert_non_null(strstr(contestant.failure, "cannot start '/nowhere/peer'"));
    assert_null(contestant.samples);
}

static void test_counts(void **state)
{
    (void)state;
    assert_int_equal(peer_count_runs(0.005, 1e6, 3), 5);
    assert_int_equal(peer_count_runs(0.005, 5e8, 3), 3);
    assert_int_equal(peer_count_runs(0.005, 5e8, 1), 1);
    assert_int_equal(peer_count_runs(0.005, 1, 3), 4096);
    assert_int_equal(peer_count_runs(0.005, -1, 3), 4096);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_each_only_harms_itself),     CASE(test_a_hang_leaves_nobody),
        CASE(test_an_interrupt_leaves_nobody), CASE(test_a_program_that_is_not_there),
        cmocka_unit_test(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
