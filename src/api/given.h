/* SPDX-License-Identifier: Apache-2.0 */
/* given.h: the costs that a context's user gives: functions and files. */
#ifndef COLLAGE_API_GIVEN_H
#define COLLAGE_API_GIVEN_H

#include "api/handles.h"
#include "cost/given.h"

/* Those that are for this machine, in the order in which they are asked; of a file that cannot be
 * read it warns. Free with given_costs_free, also after a failure. */
collage_status given_costs_load(const collage_context *context, struct given_costs *out,
                                struct error *error);
void given_costs_free(struct given_costs *given);

/* The function as collage_registered_describe tells of it. */
void cost_function_describe(const collage_context *context, size_t index,
                            collage_registered_info *info);

#endif
