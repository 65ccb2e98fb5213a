/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h: the table of `collage run --profile`. */
#ifndef COLLAGE_CLI_PROFILE_H
#define COLLAGE_CLI_PROFILE_H

#include "cli.h"

/* One row a step, in the order of running. 0, or an exit status after complaining. */
int profile_print(const collage_session *session, FILE *file);

#endif
