/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h: what a long command is doing, on standard error: a bar on a terminal, else a line at
 * each new stage and each tenth of it (one a second at most). Also the clean stop: the first Ctrl-C
 * ends the running call at its next progress report, or, of a search, its measuring only; the
 * second one kills the command at once.
 */
#ifndef COLLAGE_CLI_PROGRESS_H
#define COLLAGE_CLI_PROGRESS_H

#include <stdbool.h>
#include <time.h>

#include <collage/collage.h>

struct progress {
    bool quiet;    /* errors only */
    bool terminal; /* draw a bar */
    bool drawn;    /* a bar is on the screen */
    bool watching; /* Ctrl-C asks for a stop */
    /* Of a search: what Ctrl-C ends early instead of interrupting it; NULL: it interrupts. */
    collage_context *finishes;
    bool told; /* that it ends early */
    char stage[32];
    size_t tenth;     /* the last one reported */
    long reported_at; /* seconds after the start */
    struct timespec started;
};

/* Starts to watch for Ctrl-C. */
void progress_begin(struct progress *progress, bool quiet);

/* Takes the bar off the screen. */
void progress_erase(struct progress *progress);

/* The same, and Ctrl-C kills again. */
void progress_end(struct progress *progress);

/* collage_progress_fn and collage_log_fn: user is a struct progress. */
bool progress_update(void *user, const collage_progress *now);
void progress_log(void *user, collage_log_level level, const char *line);

#endif
