/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "worker/process.h"
#include "worker/protocol.h"
#include "worker/worker.h"

enum {
    ROUNDS_DROPPED = 2, /* the first are warm-up */
    ROUNDS_MIN = 10,
    ROUNDS_MAX = 300,
    RUNS_MIN = 3
};

static const double open_seconds = 60;
static const double load_seconds = 180; /* a library may take long to optimise a whole model */
static const double round_seconds = 30; /* more than what the runs should take */
static const double sample_seconds = 0.005, warm_seconds = 0.002;
static const double profile_seconds = 0.005;
static const double slow_ns = 2e8; /* beyond this, one run is a sample */

struct racer {
    struct process process;
    double run_ns; /* of its first run */
    size_t capacity;
};

struct race {
    const struct worker_setup *setup;
    struct registry *registry;
    struct contestant *contestants;
    struct racer *racers;
    size_t count;
    const struct race_rules *rules;
    size_t round, rounds; /* for progress; rounds is a guess that gets better */
    uint64_t told_ns;
    struct error *error;
};

/* Called while waiting, too: the user is told a few times a second. */
static bool tell(void *user)
{
    struct race *race = user;
    uint64_t now = clock_ns();
    if (!race->rules->progress || now - race->told_ns < 200000000)
        return true;
    race->told_ns = now;
    return race->rules->progress(race->rules->user, race->round, race->rounds);
}

static void drop(struct race *race, size_t index, const char *failure)
{
    struct contestant *contestant = &race->contestants[index];
    if (race->racers[index].process.pid)
        contestant->peak_bytes = process_peak_bytes(&race->racers[index].process);
    process_stop(&race->racers[index].process);
    snprintf(contestant->failure, sizeof contestant->failure, "%s", failure);
    memory_free(contestant->samples);
    contestant->samples = NULL;
    contestant->sample_count = 0;
}

/*
 * Asks a racer; takes the request over. What goes wrong with it puts it out of the race (the answer
 * is then NULL): only an interrupt and a lack of memory are errors.
 */
static collage_status ask(struct race *race, size_t index, json_t *request, double seconds,
                          json_t **answer)
{
    struct error failure = { 0 };
    collage_status status =
        process_ask(&race->racers[index].process, request, seconds, tell, race, answer, &failure);
    json_decref(request);
    if (status == COLLAGE_ERROR_INTERRUPTED || status == COLLAGE_ERROR_MEMORY)
        return error_set(race->error, status, "%s", failure.text);
    if (status != COLLAGE_OK) {
        drop(race, index, failure.text);
        return COLLAGE_OK;
    }
    const char *text = json_string_value(json_object_get(*answer, "error"));
    if (text) {
        drop(race, index, text);
        json_decref(*answer);
        *answer = NULL;
    }
    return COLLAGE_OK;
}

/* ---- the start ---- */

static collage_status contest_request(const struct race *race, size_t index, json_t **out)
{
    const struct contestant *contestant = &race->contestants[index];
    json_t *plan = NULL;
    if (contestant->plan) {
        collage_status status =
            plan_to_json(contestant->plan, race->setup->graph, &plan, race->error);
        if (status != COLLAGE_OK)
            return status;
        *out = json_pack("{s:s, s:o}", "job", "contest", "plan", plan);
    } else {
        *out = json_pack("{s:s, s:s}", "job", "contest", "library",
                         race->registry->entries[contestant->backend].name);
    }
    return *out ? COLLAGE_OK : error_memory(race->error);
}

/* Loads and verifies; its process sleeps afterwards. */
static collage_status line_up(struct race *race, size_t index)
{
    const struct worker_setup *setup = race->setup;
    struct contestant *contestant = &race->contestants[index];
    struct racer *racer = &race->racers[index];
    json_t *request, *answer;
    collage_status status = contest_request(race, index, &request);
    if (status != COLLAGE_OK)
        return status;
    status = process_start(setup->program, oracle_descriptor(setup->oracle), setup->log,
                           setup->log_user, &racer->process, race->error);
    if (status == COLLAGE_OK)
        status = ask(race, index, protocol_open(setup, !contestant->plan), open_seconds, &answer);
    if (status != COLLAGE_OK || !answer) {
        json_decref(request);
        return status;
    }
    json_decref(answer);
    status = ask(race, index, request, load_seconds, &answer);
    if (status != COLLAGE_OK || !answer)
        return status;
    contestant->worst_error = json_number_value(json_object_get(answer, "worst"));
    racer->run_ns = json_number_value(json_object_get(answer, "run_ns"));
    json_decref(answer);
    process_pause(&racer->process);
    return COLLAGE_OK;
}

/* ---- the rounds ---- */

static collage_status add_sample(struct race *race, size_t index, double ns)
{
    struct contestant *contestant = &race->contestants[index];
    if (!memory_grow((void **)&contestant->samples, &race->racers[index].capacity,
                     contestant->sample_count, sizeof *contestant->samples))
        return error_memory(race->error);
    contestant->samples[contestant->sample_count++] = ns;
    return COLLAGE_OK;
}

static collage_status run_one(struct race *race, size_t index)
{
    struct racer *racer = &race->racers[index];
    int runs = racer->run_ns > slow_ns ? 1 : RUNS_MIN;
    double expected = 10 * (runs + 1) * racer->run_ns * 1e-9; /* ten times slower is a hang */
    json_t *answer, *request = json_pack("{s:s, s:f, s:f, s:i}", "job", "round", "warm_seconds",
                                         warm_seconds, "seconds", sample_seconds, "runs", runs);
    process_resume(&racer->process);
    collage_status status = ask(race, index, request, round_seconds + expected, &answer);
    if (status != COLLAGE_OK || !answer)
        return status;
    process_pause(&racer->process);
    double ns = json_number_value(json_object_get(answer, "median_ns"));
    json_decref(answer);
    if (!(ns > 0)) {
        drop(race, index, "its process gave a senseless time");
        return COLLAGE_OK;
    }
    return race->round < ROUNDS_DROPPED ? COLLAGE_OK : add_sample(race, index, ns);
}

/* A plan's steps, each timed inside the network: a few runs more, with a look at the clock at each
 * step. */
static collage_status profile_one(struct race *race, size_t index)
{
    struct racer *racer = &race->racers[index];
    double expected = 10 * racer->run_ns * 1e-9;
    json_t *answer,
        *request = json_pack("{s:s, s:f}", "job", "profile", "seconds", profile_seconds);
    process_resume(&racer->process);
    collage_status status = ask(race, index, request, round_seconds + expected, &answer);
    if (status != COLLAGE_OK || !answer)
        return status;
    process_pause(&racer->process);
    race->contestants[index].steps_ns = json_number_value(json_object_get(answer, "steps_ns"));
    json_decref(answer);
    return COLLAGE_OK;
}

/* Each alone; who is first changes from round to round. */
static collage_status run_round(struct race *race)
{
    for (size_t k = 0; k < race->count; k++) {
        size_t index = (k + race->round) % race->count;
        if (race->contestants[index].failure[0] || race->contestants[index].rests)
            continue;
        collage_status status = run_one(race, index);
        if (status == COLLAGE_OK && race->rules->profile && race->contestants[index].plan &&
            !race->contestants[index].failure[0])
            status = profile_one(race, index);
        if (status != COLLAGE_OK)
            return status;
    }
    return COLLAGE_OK;
}

static bool anyone_left(const struct race *race)
{
    for (size_t k = 0; k < race->count; k++)
        if (!race->contestants[k].failure[0])
            return true;
    return false;
}

static void guess_rounds(struct race *race, double spent)
{
    double guess = race->rules->seconds / spent * (double)race->round;
    race->rounds = (size_t)fmax(ROUNDS_MIN + ROUNDS_DROPPED, fmin(guess, ROUNDS_MAX));
    if (race->rounds < race->round + 1)
        race->rounds = race->round + 1;
}

static bool is_over(const struct race *race, double spent)
{
    const struct race_rules *rules = race->rules;
    if (race->round < ROUNDS_MIN + ROUNDS_DROPPED)
        return false;
    return rules->more ? !rules->more(rules->user, spent) : spent >= rules->seconds;
}

static collage_status run_rounds(struct race *race)
{
    uint64_t start = clock_ns();
    for (race->round = 0; race->round < ROUNDS_MAX && anyone_left(race); race->round++) {
        double spent = (double)(clock_ns() - start) * 1e-9;
        if (is_over(race, spent))
            break;
        if (race->round > 0)
            guess_rounds(race, fmax(spent, 1e-6));
        if (!tell(race))
            return error_set(race->error, COLLAGE_ERROR_INTERRUPTED, "interrupted");
        collage_status status = run_round(race);
        if (status != COLLAGE_OK)
            return status;
    }
    race->rounds = race->round;
    return COLLAGE_OK;
}

collage_status race_run(const struct worker_setup *setup, struct registry *registry,
                        struct contestant *contestants, size_t count,
                        const struct race_rules *rules, struct error *error)
{
    struct race race = { .setup = setup,
                         .registry = registry,
                         .contestants = contestants,
                         .count = count,
                         .rules = rules,
                         .rounds = ROUNDS_MIN + ROUNDS_DROPPED,
                         .error = error };
    race.racers = memory_alloc(count * sizeof *race.racers);
    if (!race.racers)
        return error_memory(error);
    for (size_t k = 0; k < count; k++) {
        contestants[k].failure[0] = '\0';
        contestants[k].samples = NULL;
        contestants[k].sample_count = 0;
        contestants[k].peak_bytes = 0;
        contestants[k].worst_error = 0;
        contestants[k].steps_ns = 0;
        contestants[k].rests = false;
    }
    collage_status status = COLLAGE_OK;
    for (size_t k = 0; k < count && status == COLLAGE_OK; k++)
        status = line_up(&race, k);
    if (status == COLLAGE_OK)
        status = run_rounds(&race);
    for (size_t k = 0; k < count; k++) {
        if (race.racers[k].process.pid)
            contestants[k].peak_bytes = process_peak_bytes(&race.racers[k].process);
        process_stop(&race.racers[k].process);
        if (status != COLLAGE_OK)
            drop(&race, k, error ? error->text : "");
    }
    memory_free(race.racers);
    return status;
}
