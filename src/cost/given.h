/* SPDX-License-Identifier: Apache-2.0 */
/*
 * given.h: costs that a user gives instead of having them measured, by functions and by files
 * (docs/measuring.md). In: the question that a candidate is. Out: its cost, marked with who gave
 * it. Nothing of it goes into the store. A file is lines of
 *     collage_given_costs 1
 *     BACKEND OPERATORS COST [in=DIMS] [out=DIMS] [dtype=TYPE] [variant=NAME] [threads=N]
 */
#ifndef COLLAGE_COST_GIVEN_H
#define COLLAGE_COST_GIVEN_H

#include "pattern/candidate.h"

enum {
    GIVEN_BYTES = 1 << 20, /* of a file */
    GIVEN_LINES = 65536,
    GIVEN_WORD = 200, /* characters of a backend */
    GIVEN_OPERATORS = 16384
};

#define GIVEN_MOST_NS 1e15

struct given_file;

/* COLLAGE_ERROR_FORMAT names file, line and what was expected. */
collage_status given_file_parse(const char *path, const char *text, size_t length,
                                struct given_file **out, struct error *error);
collage_status given_file_load(const char *path, struct given_file **out, struct error *error);
void given_file_destroy(struct given_file *file);

/* COLLAGE_ERROR_ARGUMENT, naming the line, if there is no such backend. */
collage_status given_file_check_backends(const struct given_file *file,
                                         const struct registry *registry, struct error *error);

/* A file, or a function. */
struct given_source {
    const char *name;        /* of the file, or the function */
    struct given_file *file; /* NULL: the function */
    collage_cost_fn function;
    void *user;
};

/* In the order in which they are asked. */
struct given_costs {
    struct given_source *items;
    size_t count;
};

/* The first answer that is one; else the cost is COST_UNKNOWN. What must not be used is
 * COST_FAILED. Strings go into the arena. COLLAGE_ERROR_ARGUMENT if a function gives what is no
 * cost. */
collage_status given_costs_ask(const struct given_costs *given,
                               const collage_cost_question *question, struct arena *arena,
                               struct cost *cost, struct error *error);

#endif
