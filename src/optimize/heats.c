/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Races of two, in new processes. One process is one sample of much that a race cannot see: where
 * its memory lies, on which cores its threads began. Two processes that do the same may differ by
 * more than what is to be told, for as long as they live. So a winner that is not what the user has
 * without us, a library's own session, must win again.
 */
#include <math.h>
#include <string.h>

#include "optimize/optimizer.h"
#include "optimize/ratio.h"

enum { HEATS = 2 };

/* Of the time for the race, each. */
static const double part = 1.0 / 3;

static bool on_round(void *user, size_t round, size_t rounds)
{
    const struct optimizer *optimizer = user;
    return optimizer_report_progress(optimizer, "race", "new processes", round, rounds, NULL) ==
           COLLAGE_OK;
}

/* A contestant that fails now is out. */
static void keep_failure(struct contestant *contestant, const struct contestant *now)
{
    memcpy(contestant->failure, now->failure, sizeof contestant->failure);
}

static collage_status run_heat(struct optimizer *optimizer, const struct worker_setup *setup,
                               struct contestant *contestant, struct contestant *rival,
                               struct error *error)
{
    struct contestant pair[2] = { *contestant, *rival };
    const struct race_rules rules = { .seconds = part * optimizer->settings.race_seconds,
                                      .progress = on_round,
                                      .user = optimizer };
    collage_status status =
        race_run(setup, optimizer->settings.registry, pair, 2, &rules, error); /* new samples */
    struct summary ratio;
    if (status == COLLAGE_OK && pair[0].sample_count && pair[1].sample_count &&
        !pair[0].failure[0] && !pair[1].failure[0]) {
        if (contestant_ratio(&pair[0], &pair[1], &ratio))
            contestant->again = fmax(contestant->again, ratio.median);
        else
            status = error_memory(error);
    } else if (status == COLLAGE_OK) {
        keep_failure(contestant, &pair[0]);
        keep_failure(rival, &pair[1]);
    }
    memory_free(pair[0].samples);
    memory_free(pair[1].samples);
    return status;
}

collage_status optimizer_run_heats(struct optimizer *optimizer, const struct worker_setup *setup,
                                   struct error *error)
{
    for (;;) { /* each time one more is confirmed, refuted or fails */
        size_t winner = SIZE_MAX, rival = SIZE_MAX;
        collage_status status = optimizer_find_winner(optimizer, PROOF_FASTER, &winner, error);
        if (status == COLLAGE_OK)
            status = optimizer_find_winner(optimizer, PROOF_NONE, &rival, error);
        if (status != COLLAGE_OK || winner == SIZE_MAX || rival == SIZE_MAX ||
            optimizer->proofs[winner] == PROOF_NONE || optimizer->contestants[winner].again > 0)
            return status;
        struct contestant *first = &optimizer->contestants[winner];
        struct contestant *second = &optimizer->contestants[rival];
        for (int k = 0; k < HEATS && status == COLLAGE_OK && !first->failure[0] &&
                        !second->failure[0] && first->again <= 1;
             k++)
            status = run_heat(optimizer, setup, first, second, error);
        if (status != COLLAGE_OK)
            return status;
        if (!(first->again > 0) && !first->failure[0] && !second->failure[0])
            return error_set(error, COLLAGE_ERROR_INTERNAL, "a race gave no times");
    }
}
