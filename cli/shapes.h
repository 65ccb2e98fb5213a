/* SPDX-License-Identifier: Apache-2.0 */
/* shapes.h: options that several commands have, and --shape NAME=1x3x224x224 of those that load a
 * model. */
#ifndef COLLAGE_CLI_SHAPES_H
#define COLLAGE_CLI_SHAPES_H

#include "cli.h"

#define TRUST_OPTION(settings)                                                                     \
    {                                                                                              \
        .name = "trust", .kind = OPTION_FLAG,                                                      \
        .help = "take code objects beside the plan, whoever may write them",                       \
        .offset = offsetof(settings, trust)                                                        \
    }

#define PRECISION_OPTION(settings)                                                                 \
    {                                                                                              \
        .name = "precision", .kind = OPTION_PRECISION, .value = "NAME",                            \
        .help = "strict: sums as exact as direct summation, so no Winograd; or default",           \
        .offset = offsetof(settings, precision)                                                    \
    }

#define SHAPE_OPTION(settings)                                                                     \
    {                                                                                              \
        .name = "shape", .kind = OPTION_LIST, .value = "NAME=DIMS",                                \
        .help = "shape of an input, such as input=1x3x224x224; repeat for more",                   \
        .offset = offsetof(settings, shapes)                                                       \
    }

struct shape_list {
    collage_shape items[OPTION_LIST_MAXIMUM];
    size_t count;
    char *names; /* what the items' names point into */
};

/* 0, or an exit status after complaining. Free with
 * shapes_free. */
int shapes_parse(const char *command, const struct option_list *texts, struct shape_list *shapes);
void shapes_free(struct shape_list *shapes);

/* Loads the model at path with those shapes. 0, or an exit status after complaining. */
int load_model(collage_context *context, const char *command, const char *path,
               const struct option_list *texts, collage_model **out);

#endif
