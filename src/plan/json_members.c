/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/json.h"

#define ROW(index, name, kind) { name, kind },
#define END                                                                                        \
    {                                                                                              \
        NULL, MEMBER_TEXT                                                                          \
    }
const struct member PLAN_MEMBERS[] = { PLAN_TABLE(ROW) END };
const struct member PLAN_MODEL_MEMBERS[] = { PLAN_MODEL_TABLE(ROW) END };
const struct member PLAN_SHAPE_MEMBERS[] = { PLAN_SHAPE_TABLE(ROW) END };
const struct member PLAN_BACKEND_MEMBERS[] = { PLAN_BACKEND_TABLE(ROW) END };
const struct member PLAN_OBJECT_MEMBERS[] = { PLAN_OBJECT_TABLE(ROW) END };
const struct member PLAN_TENSOR_MEMBERS[] = { PLAN_TENSOR_TABLE(ROW) END };
const struct member PLAN_STEP_MEMBERS[] = { PLAN_STEP_TABLE(ROW) END };
const struct member PLAN_RESULT_MEMBERS[] = { PLAN_RESULT_TABLE(ROW) END };

const char *const plan_step_names[] = { [PLAN_KERNEL] = "kernel",
                                        [PLAN_REORDER] = "reorder",
                                        [PLAN_COPY] = "copy",
                                        [PLAN_JOIN] = "join",
                                        NULL };
const char *const plan_place_names[] = { [PLAN_ARENA] = "arena",
                                         [PLAN_INPUT] = "input",
                                         [PLAN_OUTPUT] = "output",
                                         [PLAN_CONSTANT] = "constant",
                                         NULL };
