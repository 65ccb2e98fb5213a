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
static const double slow_ns = 5e7;     /* beyond this, one run is a sample: rather more rounds */
static const double colossal_ns = 2e8; /* beyond this, without a warm-up, which is lost in it */

struct racer {
    struct process process;
    struct peer_seat seat; /* of a peer */
    double run_ns;         /* of its first run */
    size_t capacity;
};

struct race {
    const struct worker_setup *setup;
    struct registry *registry;
    struct contestant *contestants;
    struct racer *racers;
    size_t count;
    const struct race_rules *rules;
    struct peer_files *files; /* NULL without peers */
    size_t round, rounds;     /* for progress; rounds is a guess that gets better */
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

/* What goes wrong with a racer puts it out of the race: only an interrupt and a lack of memory are
 * errors. */
static collage_status judge(struct race *race, size_t index, collage_status status,
                            const struct error *failure)
{
    if (status == COLLAGE_ERROR_INTERRUPTED || status == COLLAGE_ERROR_MEMORY)
        return error_set(race->error, status, "%s", failure->text);
    if (status != COLLAGE_OK)
        drop(race, index, failure->text);
    return COLLAGE_OK;
}

/* Asks a racer; takes the request over. The answer is NULL if it is out of the race. */
static collage_status ask(struct race *race, size_t index, json_t *request, double seconds,
                          json_t **answer)
{
    struct error failure = { 0 };
    collage_status status =
        process_ask(&race->racers[index].process, request, seconds, tell, race, answer, &failure);
    json_decref(request);
    if (status != COLLAGE_OK)
        return judge(race, index, status, &failure);
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
        *out = json_pack("{s:s, s:o, s:s?, s:b}", "job", "contest", "plan", plan, "folder",
                         contestant->plan->folder, "trust", (int)race->setup->trust);
    } else {
        *out = json_pack("{s:s, s:s}", "job", "contest", "library",
                         race->registry->entries[contestant->backend].name);
    }
    return *out ? COLLAGE_OK : error_memory(race->error);
}

static collage_status line_up_peer(struct race *race, size_t index)
{
    const struct worker_setup *setup = race->setup;
    struct contestant *contestant = &race->contestants[index];
    struct racer *racer = &race->racers[index];
    racer->seat = (struct peer_seat){ .peer = contestant->peer,
                                      .process = &racer->process,
                                      .files = race->files,
                                      .model_path = setup->model_path,
                                      .threads = setup->threads,
                                      .tick = tell,
                                      .user = race };
    collage_status status =
        process_start_peer(setup->program, contestant->peer->arguments, contestant->peer->name,
                           setup->log, setup->log_user, &racer->process, race->error);
    if (status != COLLAGE_OK)
        return status;
    struct error failure = { 0 };
    status = peer_line_up(&racer->seat, contestant->about, sizeof contestant->about,
                          &contestant->worst_error, &racer->run_ns, &failure);
    status = judge(race, index, status, &failure);
    process_pause(&racer->process);
    return status;
}

/* Loads and verifies; its process sleeps afterwards. */
static collage_status line_up(struct race *race, size_t index)
{
    const struct worker_setup *setup = race->setup;
    struct contestant *contestant = &race->contestants[index];
    struct racer *racer = &race->racers[index];
    json_t *request, *answer;
    if (contestant->peer)
        return line_up_peer(race, index);
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

/* Ten times slower than expected is a hang. */
static double turn_seconds(const struct racer *racer, size_t runs)
{
    return round_seconds + 10 * (double)(runs + 1) * racer->run_ns * 1e-9;
}

static collage_status run_peer(struct race *race, size_t index, size_t least, double *ns)
{
    const struct racer *racer = &race->racers[index];
    size_t warm = peer_count_runs(warm_seconds, racer->run_ns, 1);
    size_t runs = peer_count_runs(sample_seconds, racer->run_ns, least);
    struct error failure = { 0 };
    collage_status status =
        peer_round(&racer->seat, warm, runs, turn_seconds(racer, warm + runs), ns, &failure);
    return judge(race, index, status, &failure);
}

static collage_status run_racer(struct race *race, size_t index, size_t least, double *ns)
{
    double warm = race->racers[index].run_ns > colossal_ns ? 0 : warm_seconds;
    json_t *answer,
        *request = json_pack("{s:s, s:f, s:f, s:I}", "job", "round", "warm_seconds", warm,
                             "seconds", sample_seconds, "runs", (json_int_t)least);
    collage_status status =
        ask(race, index, request, turn_seconds(&race->racers[index], least), &answer);
    *ns = json_number_value(json_object_get(answer, "median_ns"));
    json_decref(answer);
    return status;
}

static collage_status run_one(struct race *race, size_t index)
{
    const struct racer *racer = &race->racers[index];
    const struct contestant *contestant = &race->contestants[index];
    size_t least = racer->run_ns > slow_ns ? 1 : RUNS_MIN;
    double ns = 0;
    process_resume(&racer->process);
    collage_status status =
        contestant->peer ? run_peer(race, index, least, &ns) : run_racer(race, index, least, &ns);
    if (status != COLLAGE_OK || contestant->failure[0])
        return status;
    process_pause(&racer->process);
    if (!(ns > 0)) {
        drop(race, index, "its process gave a senseless time");
        return COLLAGE_OK;
    }
    return race->round < ROUNDS_DROPPED ? COLLAGE_OK : add_sample(race, index, ns);
}

/* What each step takes: the last profile knows all of those before. */
static collage_status take_steps(struct race *race, size_t index, const json_t *list)
{
    struct contestant *contestant = &race->contestants[index];
    const size_t count = contestant->plan->step_count;
    if (json_array_size(list) != count) {
        drop(race, index, "its process did not tell the times of its steps");
        return COLLAGE_OK;
    }
    if (!contestant->step_ns)
        contestant->step_ns = memory_alloc((count + 1) * sizeof *contestant->step_ns);
    if (!contestant->step_ns)
        return error_memory(race->error);
    for (size_t s = 0; s < count; s++)
        contestant->step_ns[s] = json_number_value(json_array_get(list, s));
    return COLLAGE_OK;
}

/* A plan's steps, each timed inside the network: a few runs more, with a look at the clock at each
 * step. */
static collage_status profile_one(struct race *race, size_t index)
{
    struct racer *racer = &race->racers[index];
    double expected = 10 * racer->run_ns * 1e-9;
    json_t *answer, *request = json_pack("{s:s, s:f, s:b}", "job", "profile", "seconds",
                                         profile_seconds, "each", (int)race->rules->each_step);
    process_resume(&racer->process);
    collage_status status = ask(race, index, request, round_seconds + expected, &answer);
    if (status != COLLAGE_OK || !answer)
        return status;
    process_pause(&racer->process);
    race->contestants[index].steps_ns = json_number_value(json_object_get(answer, "steps_ns"));
    if (race->rules->each_step)
        status = take_steps(race, index, json_object_get(answer, "each"));
    json_decref(answer);
    return status;
}

/* Of a long one only now and then: a profile takes as long as a sample. */
static bool wants_profile(const struct race *race, size_t index)
{
    enum { ONE_OF = 3 };
    const struct contestant *contestant = &race->contestants[index];
    return race->rules->profile && contestant->plan && !contestant->failure[0] &&
           (race->racers[index].run_ns <= slow_ns || race->round % ONE_OF == 0);
}

/* Each alone; who is first changes from round to round. */
static collage_status run_round(struct race *race)
{
    for (size_t k = 0; k < race->count; k++) {
        size_t index = (k + race->round) % race->count;
        if (race->contestants[index].failure[0] || race->contestants[index].rests)
            continue;
        collage_status status = run_one(race, index);
        if (status == COLLAGE_OK && wants_profile(race, index))
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

static collage_status make_files(struct race *race)
{
    for (size_t k = 0; k < race->count; k++)
        if (race->contestants[k].peer)
            return peer_files_create(race->setup->graph, race->setup->oracle, &race->files,
                                     race->error);
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
        contestants[k].about[0] = '\0';
        contestants[k].samples = NULL;
        contestants[k].sample_count = 0;
        contestants[k].peak_bytes = 0;
        contestants[k].worst_error = 0;
        contestants[k].steps_ns = 0;
        contestants[k].step_ns = NULL;
        contestants[k].rests = false;
    }
    collage_status status = make_files(&race);
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
    peer_files_destroy(race.files);
    memory_free(race.racers);
    return status;
}
