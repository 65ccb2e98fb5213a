/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conform.h: runs a compiled sub-graph on given tensors and holds the result against the reference:
 * twice, with poisoned outputs between guard zones, on unaligned row-major tensors, and in place
 * where the kernel says it can.
 */
#ifndef CONFORM_CONFORM_H
#define CONFORM_CONFORM_H

#include "backend/registry.h"

struct conform_counts {
    unsigned unsupported;   /* operators of cases that the backend refuses */
    unsigned passed;        /* variants from here on */
    unsigned unimplemented; /* the library could not compile them */
    unsigned failed;
};

/* A variant of a sub-graph on a backend, with one schedule. inputs and outputs: the reference's
 * tensors, row-major. */
struct conform_trial {
    const char *name; /* of the case */
    const struct backend_entry *backend;
    const collage_subgraph *subgraph;
    const collage_variant *variant;
    const collage_target *target;
    const struct tensor *inputs;
    const struct tensor *outputs;
    const double *slack; /* of each output (reference/slack.h); NULL: none */
    bool verbose;
    const char *schedule; /* NULL: as the backend likes */
    /* Of each output: how far each element of a direct variant may be off (reference/bound.h), or
     * NULL; NULL: of none. */
    const float *const *bounds;
};

/* Compiles, runs and checks; counts, and prints a line for each failure. */
void conform_run(const struct conform_trial *trial, struct conform_counts *counts);

#endif
