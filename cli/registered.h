/* SPDX-License-Identifier: Apache-2.0 */
/* registered.h: what `collage backends`, `collage patterns` and `collage costs` share: printing
 * what is registered, and the options of what is to be; and files that are registered for one run.
 */
#ifndef COLLAGE_CLI_REGISTERED_H
#define COLLAGE_CLI_REGISTERED_H

#include "cli.h"

#define TARGET_OPTION(type)                                                                        \
    {                                                                                              \
        "target", 0, OPTION_TEXT, "GLOB",                                                          \
            "what is registered or forgotten is for machines of this name or fingerprint only",    \
            offsetof(type, target)                                                                 \
    }

enum registered_what { WHAT_BACKENDS, WHAT_PATTERNS, WHAT_COSTS };

/* One line each of those, and a head if there are any; of patterns also if there are none. */
int print_registered(collage_context *context, enum registered_what what);

/* ---- files for one run ---- */

struct run_files {
    struct option_list patterns, costs;
};

#define RUN_FILE_OPTIONS(type, member)                                                             \
    { "patterns",                                                                                  \
      0,                                                                                           \
      OPTION_LIST,                                                                                 \
      "FILE",                                                                                      \
      "offer what this file says to the backends, too; repeat for more",                           \
      offsetof(type, member.patterns) },                                                           \
    {                                                                                              \
        "costs", 0, OPTION_LIST, "FILE",                                                           \
            "take the costs in this file instead of measured ones; repeat for more",               \
            offsetof(type, member.costs)                                                           \
    }

/* Adds them to the context: 0, or an exit status after complaining. */
int add_run_files(collage_context *context, const struct run_files *files);

#endif
