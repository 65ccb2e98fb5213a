/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "measure/statistics.h"
#include "worker/peer_files.h"

enum {
    PROTOCOL = 1,
    RUNS_MAX = 4096,
    CLOCK_TRIALS = 3 /* in each of which the clocks must disagree before we say so */
};

static const double hello_seconds = 120; /* frameworks are large, and disks are slow */
static const double load_seconds = 600;  /* some compile a model for minutes */
static const double first_seconds = 60;  /* the first runs, one at least */
/* So much of our time must be covered by the times that a peer gives, in runs that take so long. */
static const double covered = 0.05, agreed_seconds = 0.005, disagreed_seconds = 0.5;

size_t peer_count_runs(double seconds, double run_ns, size_t least)
{
    double runs = ceil(seconds * 1e9 / fmax(run_ns, 1));
    return (size_t)fmin(fmax(runs, (double)least), RUNS_MAX);
}

/* ---- asking ---- */

/* What a peer that is gone printed last may tell why. */
static collage_status add_last_words(const struct peer_seat *seat, collage_status status,
                                     struct error *failure)
{
    size_t count = strlen(failure->text);
    if (status != COLLAGE_ERROR_INTERRUPTED && status != COLLAGE_ERROR_MEMORY &&
        seat->process->pid == 0 && seat->process->printed[0])
        snprintf(failure->text + count, sizeof failure->text - count, "; it printed: %s",
                 seat->process->printed);
    return status;
}

/* Takes the request over. */
static collage_status ask(const struct peer_seat *seat, json_t *request, double seconds,
                          json_t **answer, struct error *failure)
{
    if (seat->peer->answer_seconds > 0)
        seconds = seat->peer->answer_seconds;
    collage_status status =
        process_ask(seat->process, request, seconds, seat->tick, seat->user, answer, failure);
    json_decref(request);
    if (status != COLLAGE_OK)
        return add_last_words(seat, status, failure);
    const char *absent = json_string_value(json_object_get(*answer, "absent"));
    const char *text = json_string_value(json_object_get(*answer, "error"));
    if (absent)
        status = error_set(failure, COLLAGE_ERROR_BACKEND, "absent: %.300s", absent);
    else if (text)
        status = error_set(failure, COLLAGE_ERROR_BACKEND, "%.400s", text);
    if (status == COLLAGE_OK)
        return COLLAGE_OK;
    json_decref(*answer);
    *answer = NULL;
    return status;
}

/* ---- hello ---- */

static collage_status check_hello(const struct peer_seat *seat, const json_t *answer,
                                  struct error *failure)
{
    const json_t *protocol = json_object_get(answer, "protocol");
    const json_t *threads = json_object_get(answer, "threads");
    const char *precision = json_string_value(json_object_get(answer, "precision"));
    if (!json_is_integer(protocol) || json_integer_value(protocol) != PROTOCOL)
        return error_set(failure, COLLAGE_ERROR_BACKEND,
                         "speaks another protocol than %d (docs/peers.md)", PROTOCOL);
    if (!json_is_integer(threads) || json_integer_value(threads) != seat->threads)
        return error_set(failure, COLLAGE_ERROR_BACKEND, "does not run on %d thread%s",
                         seat->threads, seat->threads == 1 ? "" : "s");
    if (!precision || strcmp(precision, "float32") != 0)
        return error_set(failure, COLLAGE_ERROR_BACKEND, "computes in %.40s, not in float32",
                         precision ? precision : "an unknown precision");
    return COLLAGE_OK;
}

static collage_status greet(const struct peer_seat *seat, char *about, size_t about_size,
                            struct error *failure)
{
    json_t *answer, *request = json_pack("{s:s, s:i, s:i}", "do", "hello", "protocol", PROTOCOL,
                                         "threads", (int)seat->threads);
    collage_status status = ask(seat, request, hello_seconds, &answer, failure);
    if (status != COLLAGE_OK)
        return status;
    status = check_hello(seat, answer, failure);
    const char *name = json_string_value(json_object_get(answer, "name"));
    const char *version = json_string_value(json_object_get(answer, "version"));
    const char *details = json_string_value(json_object_get(answer, "details"));
    snprintf(about, about_size, "%.60s%s%.40s%s%.80s", name ? name : seat->peer->name,
             version ? " " : "", version ? version : "", details && *details ? ", " : "",
             details ? details : "");
    json_decref(answer);
    return status;
}

/* ---- load ---- */

static collage_status load(const struct peer_seat *seat, double *worst, struct error *failure)
{
    json_t *inputs = peer_files_describe_inputs(seat->files);
    json_t *outputs = peer_files_describe_outputs(seat->files);
    json_t *answer, *request = json_pack("{s:s, s:s, s:o, s:o}", "do", "load", "model",
                                         seat->model_path, "inputs", inputs, "outputs", outputs);
    peer_files_clear_outputs(seat->files);
    collage_status status = ask(seat, request, load_seconds, &answer, failure);
    if (status != COLLAGE_OK)
        return status;
    json_decref(answer);
    return peer_files_compare(seat->files, worst, failure);
}

/* ---- run ---- */

struct turn {
    double median_ns;
    double ours_ns;  /* our time, from the request to the answer */
    double total_ns; /* the sum of its times */
};

static collage_status read_times(const json_t *answer, size_t runs, double *times,
                                 struct error *failure)
{
    const json_t *list = json_object_get(answer, "times_ns");
    if (!json_is_array(list) || json_array_size(list) != runs)
        return error_set(failure, COLLAGE_ERROR_BACKEND, "gave %zu times (times_ns) for %zu runs",
                         json_array_size(list), runs);
    for (size_t k = 0; k < runs; k++) {
        const json_t *item = json_array_get(list, k);
        times[k] = json_number_value(item);
        if (!json_is_number(item) || !(times[k] > 0) || !isfinite(times[k]))
            return error_set(failure, COLLAGE_ERROR_BACKEND, "gave a senseless time for run %zu",
                             k);
    }
    return COLLAGE_OK;
}

static collage_status take_turn(const struct peer_seat *seat, size_t warm, size_t runs,
                                double seconds, struct turn *turn, struct error *failure)
{
    double times[RUNS_MAX];
    json_t *answer, *request = json_pack("{s:s, s:I, s:I}", "do", "run", "warm", (json_int_t)warm,
                                         "runs", (json_int_t)runs);
    uint64_t start = clock_ns();
    collage_status status = ask(seat, request, seconds, &answer, failure);
    turn->ours_ns = (double)(clock_ns() - start);
    if (status != COLLAGE_OK)
        return status;
    status = read_times(answer, runs, times, failure);
    json_decref(answer);
    if (status != COLLAGE_OK)
        return status;
    turn->total_ns = 0;
    for (size_t k = 0; k < runs; k++)
        turn->total_ns += times[k];
    if (turn->total_ns > turn->ours_ns)
        return error_set(failure, COLLAGE_ERROR_BACKEND,
                         "says that %zu runs took %.3g ms, but answered after %.3g ms", runs,
                         turn->total_ns / 1e6, turn->ours_ns / 1e6);
    struct summary summary;
    if (!summary_of(times, runs, &summary))
        return error_memory(failure);
    turn->median_ns = summary.median;
    return COLLAGE_OK;
}

/* More and more runs, until they take long enough by our clock: longer if the clocks disagree,
 * since a busy machine may have kept the peer waiting. */
static collage_status first_turn(const struct peer_seat *seat, struct turn *turn, bool *agree,
                                 struct error *failure)
{
    for (size_t runs = 1;; runs = runs * 4 < RUNS_MAX ? runs * 4 : RUNS_MAX) {
        collage_status status = take_turn(seat, 0, runs, first_seconds, turn, failure);
        if (status != COLLAGE_OK)
            return status;
        *agree = turn->total_ns >= covered * turn->ours_ns;
        double enough = *agree ? agreed_seconds : disagreed_seconds;
        if (turn->ours_ns >= enough * 1e9 || runs == RUNS_MAX)
            return COLLAGE_OK;
    }
}

/* A peer that gives microseconds for nanoseconds would win every race. */
static collage_status compare_clocks(const struct peer_seat *seat, double *run_ns,
                                     struct error *failure)
{
    struct turn turn = { .median_ns = 0 };
    for (int trial = 0; trial < CLOCK_TRIALS; trial++) {
        bool agree = false;
        collage_status status = first_turn(seat, &turn, &agree, failure);
        *run_ns = turn.median_ns;
        if (status != COLLAGE_OK || agree)
            return status;
    }
    return error_set(failure, COLLAGE_ERROR_BACKEND,
                     "its times do not add up: %.3g ms for runs that took %.3g ms; they must be in "
                     "nanoseconds",
                     turn.total_ns / 1e6, turn.ours_ns / 1e6);
}

collage_status peer_line_up(const struct peer_seat *seat, char *about, size_t about_size,
                            double *worst, double *run_ns, struct error *failure)
{
    collage_status status = greet(seat, about, about_size, failure);
    if (status == COLLAGE_OK)
        status = load(seat, worst, failure);
    if (status == COLLAGE_OK)
        status = compare_clocks(seat, run_ns, failure);
    return status;
}

collage_status peer_round(const struct peer_seat *seat, size_t warm, size_t runs, double seconds,
                          double *median_ns, struct error *failure)
{
    struct turn turn = { .median_ns = 0 };
    collage_status status = take_turn(seat, warm, runs, seconds, &turn, failure);
    *median_ns = turn.median_ns;
    return status;
}
