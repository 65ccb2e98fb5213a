/* SPDX-License-Identifier: Apache-2.0 */
/* registered.h: what `collage backends` and `collage patterns` share: printing what is registered,
 * and the options of what is to be. */
#ifndef COLLAGE_CLI_REGISTERED_H
#define COLLAGE_CLI_REGISTERED_H

#include "cli.h"

#define TARGET_OPTION(type)                                                                        \
    {                                                                                              \
        "target", 0, OPTION_TEXT, "GLOB",                                                          \
            "what is registered or forgotten is for machines of this name or fingerprint only",    \
            offsetof(type, target)                                                                 \
    }

/* One line each of those that are patterns, or of all others; and a head if there are any. */
int print_registered(collage_context *context, bool patterns);

#endif
