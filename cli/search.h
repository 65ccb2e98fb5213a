/* SPDX-License-Identifier: Apache-2.0 */
/* search.h: the options of `collage optimize` that say how to place, and what is placed already. */
#ifndef COLLAGE_CLI_SEARCH_H
#define COLLAGE_CLI_SEARCH_H

#include "cli.h"

/* As given on the command line. */
struct search_settings {
    const char *name, *placement;
    double kernel_cost, seconds;
    int32_t seed, generations;
    bool recompute;
    struct option_list places; /* NODE=BACKEND */
};

struct pin_list {
    collage_pin items[OPTION_LIST_MAXIMUM];
    size_t count;
    char *texts; /* what the items point into */
};

/* Fills what they are about in `options`, which points into `pins` then. 0, or an exit status after
 * complaining. Free with pins_free. */
int search_parse(const char *command, const struct search_settings *settings,
                 collage_optimize_options *options, struct pin_list *pins);
void pins_free(struct pin_list *pins);

#endif
