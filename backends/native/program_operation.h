/* SPDX-License-Identifier: Apache-2.0 */
/* program_operation.h: an operator as a step of a program. */
#ifndef NATIVE_PROGRAM_OPERATION_H
#define NATIVE_PROGRAM_OPERATION_H

#include "program.h"

/* Operation and parameters of a node, and how many of its inputs are operands; slots are not set.
 */
bool program_read_operation(const collage_subgraph *subgraph, const collage_node *node,
                            struct program_step *step, uint32_t *operands, collage_message *why);

#endif
