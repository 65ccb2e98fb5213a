/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evolve.h: a genetic algorithm over strings of bits, with the operators and the numbers of the
 * published search (docs/placement.md). What an individual means and what it is worth, the caller
 * says; nothing is measured here.
 */
#ifndef COLLAGE_PLACE_EVOLVE_H
#define COLLAGE_PLACE_EVOLVE_H

#include "base/error.h"

/* genes: `count` bytes, each 0 or 1. *value: the less, the better; HUGE_VAL: it cannot live. A
 * failure ends the search. Asked once for each individual. */
typedef collage_status (*evolve_measure_fn)(void *user, const uint8_t *genes, uint32_t count,
                                            double *value, struct error *error);
/* After each generation: the best individual so far. False: that is enough. */
typedef bool (*evolve_generation_fn)(void *user, uint32_t generation, const uint8_t *best,
                                     double value);

struct evolve_rules {
    uint32_t population;  /* 0: 50; at least 2 */
    uint32_t generations; /* at most, the first population included; 0: no limit */
    uint64_t seed;
    uint64_t deadline; /* on clock_ns: nothing is measured after it but the first individual */
    evolve_measure_fn measure;
    evolve_generation_fn generation; /* may be NULL */
    void *user;
};

struct evolve_result {
    uint8_t *best; /* memory_alloc'ed; of equal ones the one that was measured first */
    double value;
    uint32_t generations;
    size_t measured, recalled; /* individuals: measured; met again */
};

/*
 * The first generation is the individual of zeros, the one of ones, and random ones. In each later
 * one parents are the winners of tournaments of 5; two neighbours exchange what lies between two
 * points with probability 0.5; an individual mutates with 0.2, and then each bit flips with 0.05.
 * Ends with the limits, or when every individual that there can be has been measured. count: at
 * least 1.
 */
collage_status evolve_run(const struct evolve_rules *rules, uint32_t count,
                          struct evolve_result *out, struct error *error);
void evolve_free(struct evolve_result *result);

#endif
