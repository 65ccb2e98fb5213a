/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "worker/process.h"

#define WORKER_PROGRAM COLLAGE_BUILD_DIR "/bin/collage-worker"

static void start(struct process *process)
{
    struct error error = { 0 };
    if (process_start(WORKER_PROGRAM, -1, NULL, NULL, process, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
}

static json_t *open_request(void)
{
    return json_pack("{s:s, s:s, s:[], s:i}", "job", "open", "plugins", "", "shapes", "threads", 1);
}

static void test_answers(void **state)
{
    (void)state;
    struct process process;
    struct error error = { 0 };
    start(&process);
    json_t *request = open_request(), *answer;
    assert_int_equal(process_ask(&process, request, 20, NULL, NULL, &answer, &error), COLLAGE_OK);
    assert_null(json_object_get(answer, "error"));
    json_decref(answer);
    json_decref(request);
    assert_true(process_peak_bytes(&process) > 100000);
    assert_true(process_is_alive(&process));
    process_stop(&process);
    assert_false(process_is_alive(&process));
    process_stop(&process);
}

/* A worker takes nothing for granted. */
static void test_senseless_requests(void **state)
{
    (void)state;
    static const char *const requests[] = {
        "{}",
        "{\"job\":\"dance\"}",
        "{\"job\":7}",
        "{\"job\":\"measure\"}",
        "{\"job\":\"transition\",\"backend\":\"reference\",\"value\":-1}",
        "{\"job\":\"switch\",\"a\":{},\"b\":[]}",
        "{\"job\":\"contest\",\"plan\":{}}",
        "{\"job\":\"round\",\"seconds\":1}",
        "{\"job\":\"describe\",\"backend\":\"nobody\"}",
        "{\"job\":\"open\",\"shapes\":[{\"name\":3,\"dims\":[1]}]}",
    };
    struct process process;
    start(&process);
    for (size_t k = 0; k < sizeof requests / sizeof *requests; k++) {
        struct error error = { 0 };
        json_t *request = json_loads(requests[k], 0, NULL), *answer;
        assert_non_null(request);
        if (process_ask(&process, request, 20, NULL, NULL, &answer, &error) != COLLAGE_OK)
            fail_msg("%s: %s", requests[k], error.text);
        assert_true(json_is_string(json_object_get(answer, "error")));
        json_decref(answer);
        json_decref(request);
    }
    process_stop(&process);
}

static void test_death_is_noticed_and_sigpipe_is_not(void **state)
{
    (void)state;
    struct process process;
    struct error error = { 0 };
    start(&process);
    kill(process.pid, SIGKILL);
    json_t *request = open_request(), *answer;
    assert_int_equal(process_ask(&process, request, 20, NULL, NULL, &answer, &error),
                     COLLAGE_ERROR_BACKEND);
    assert_string_equal(error.text, "crashed (SIGKILL)");
    assert_null(answer);
    assert_int_equal(process.pid, 0);
    json_decref(request);
}

static void test_timeout(void **state)
{
    (void)state;
    struct process process;
    struct error error = { 0 };
    start(&process);
    process_pause(&process);
    json_t *request = open_request(), *answer;
    uint64_t begin = clock_ns();
    assert_int_equal(process_ask(&process, request, 0.3, NULL, NULL, &answer, &error),
                     COLLAGE_ERROR_TIMEOUT);
    double seconds = (double)(clock_ns() - begin) * 1e-9;
    assert_true(seconds >= 0.3 && seconds < 5);
    assert_string_equal(error.text, "timed out after 0.3 s");
    assert_int_equal(process.pid, 0);
    json_decref(request);
}

static bool stop_at_third(void *user)
{
    int *calls = user;
    return ++*calls < 3;
}

static void test_interrupt(void **state)
{
    (void)state;
    struct process process;
    struct error error = { 0 };
    int calls = 0;
    start(&process);
    process_pause(&process);
    json_t *request = open_request(), *answer;
    assert_int_equal(process_ask(&process, request, 60, stop_at_third, &calls, &answer, &error),
                     COLLAGE_ERROR_INTERRUPTED);
    assert_int_equal(calls, 3);
    json_decref(request);
}

/* More than a socket holds, to a worker that does not read. */
static void test_full_socket_times_out(void **state)
{
    (void)state;
    struct process process;
    struct error error = { 0 };
    start(&process);
    process_pause(&process);
    static char much[4 << 20];
    memset(much, 'x', sizeof much - 1);
    json_t *request = json_pack("{s:s}", "job", much), *answer;
    assert_int_equal(process_ask(&process, request, 0.3, NULL, NULL, &answer, &error),
                     COLLAGE_ERROR_TIMEOUT);
    json_decref(request);

    start(&process);
    request = json_pack("{s:s}", "job", much);
    error_clear(&error);
    assert_int_equal(process_ask(&process, request, 20, NULL, NULL, &answer, &error), COLLAGE_OK);
    assert_true(json_is_string(json_object_get(answer, "error")));
    json_decref(answer);
    json_decref(request);
    process_stop(&process);
}

/* Gone, or a zombie that waits for whoever adopted it. */
static bool has_ended(pid_t pid)
{
    char path[64], line[128], life = '?';
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return true;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "State: %c", &life) == 1)
            break;
    fclose(file);
    return life == 'Z' || life == 'X';
}

static void test_dies_with_its_parent(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t parent = fork();
    if (parent == 0) {
        struct process process;
        struct error error = { 0 };
        json_t *answer = NULL;
        pid_t pid = -1;
        if (process_start(WORKER_PROGRAM, -1, NULL, NULL, &process, &error) == COLLAGE_OK &&
            process_ask(&process, open_request(), 20, NULL, NULL, &answer, &error) == COLLAGE_OK)
            pid = process.pid;
        process_pause(&process); /* it cannot even see that the socket closes */
        if (write(ends[1], &pid, sizeof pid) != sizeof pid)
            _exit(1);
        for (;;)
            pause();
    }
    pid_t worker = -1;
    assert_int_equal(read(ends[0], &worker, sizeof worker), sizeof worker);
    assert_true(worker > 0);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    int waited = 0;
    while (!has_ended(worker) && waited++ < 100)
        poll(NULL, 0, 50);
    bool ended = has_ended(worker);
    if (!ended)
        kill(worker, SIGKILL);
    assert_true(ended);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_senseless_requests),
        cmocka_unit_test(test_death_is_noticed_and_sigpipe_is_not),
        cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_interrupt),
        cmocka_unit_test(test_full_socket_times_out),
        cmocka_unit_test(test_dies_with_its_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
