/* SPDX-License-Identifier: Apache-2.0 */
/* json.h: the members of a plan file, in the order in which they are written: one table an object,
 * for the writer and the reader (docs/plan-format.md). */
#ifndef COLLAGE_PLAN_JSON_H
#define COLLAGE_PLAN_JSON_H

#include "plan/plan.h"

#define PLAN_FORMAT "collage-plan"
#define PLAN_STRICT "strict" /* the one precision that is written */
enum { PLAN_VERSION = 1 };

/* What a member may be; NUMBER takes integers too. */
enum member_kind {
    MEMBER_TEXT,
    MEMBER_INTEGER,
    MEMBER_NUMBER,
    MEMBER_BOOLEAN,
    MEMBER_LIST,
    MEMBER_LIST_OR_ABSENT,
    MEMBER_TEXT_OR_ABSENT,
    MEMBER_INTEGER_OR_ABSENT,
    MEMBER_OBJECT,
    MEMBER_INTEGER_OR_NULL,
    MEMBER_OBJECT_OR_NULL
};

struct member {
    const char *name; /* NULL ends the table */
    enum member_kind kind;
};

/* ROW(index, name, kind) */
#define PLAN_TABLE(ROW)                                                                            \
    ROW(PLAN_FORMAT_NAME, "format", MEMBER_TEXT)                                                   \
    ROW(PLAN_FORMAT_VERSION, "version", MEMBER_INTEGER)                                            \
    ROW(PLAN_COLLAGE, "collage", MEMBER_TEXT)                                                      \
    ROW(PLAN_MODEL, "model", MEMBER_OBJECT)                                                        \
    ROW(PLAN_THREADS, "threads", MEMBER_INTEGER)                                                   \
    ROW(PLAN_LANES, "lanes", MEMBER_INTEGER_OR_ABSENT)                                             \
    ROW(PLAN_PRECISION, "precision", MEMBER_TEXT_OR_ABSENT)                                        \
    ROW(PLAN_DEVICE, "device", MEMBER_TEXT)                                                        \
    ROW(PLAN_DEVICE_NAME, "device_name", MEMBER_TEXT)                                              \
    ROW(PLAN_PREDICTED, "predicted_ns", MEMBER_NUMBER)                                             \
    ROW(PLAN_OPTIMAL, "optimal", MEMBER_BOOLEAN)                                                   \
    ROW(PLAN_BOUND, "bound_ns", MEMBER_NUMBER)                                                     \
    ROW(PLAN_STANDALONE, "standalone", MEMBER_BOOLEAN)                                             \
    ROW(PLAN_BACKENDS, "backends", MEMBER_LIST)                                                    \
    ROW(PLAN_RESULTS, "results", MEMBER_LIST)                                                      \
    ROW(PLAN_STEPS, "steps", MEMBER_LIST)                                                          \
    ROW(PLAN_TENSORS, "tensors", MEMBER_LIST)                                                      \
    ROW(PLAN_OBJECTS, "objects", MEMBER_LIST_OR_ABSENT)                                            \
    ROW(PLAN_EVIDENCE, "evidence", MEMBER_OBJECT_OR_NULL)

#define PLAN_MODEL_TABLE(ROW)                                                                      \
    ROW(MODEL_PATH, "path", MEMBER_TEXT)                                                           \
    ROW(MODEL_SOURCE, "source", MEMBER_TEXT)                                                       \
    ROW(MODEL_GRAPH, "graph", MEMBER_TEXT)                                                         \
    ROW(MODEL_SHAPES, "shapes", MEMBER_LIST)

#define PLAN_SHAPE_TABLE(ROW)                                                                      \
    ROW(SHAPE_NAME, "name", MEMBER_TEXT)                                                           \
    ROW(SHAPE_DIMS, "dims", MEMBER_LIST)

#define PLAN_BACKEND_TABLE(ROW)                                                                    \
    ROW(BACKEND_NAME, "name", MEMBER_TEXT)                                                         \
    ROW(BACKEND_VERSION, "version", MEMBER_TEXT)

#define PLAN_OBJECT_TABLE(ROW)                                                                     \
    ROW(OBJECT_NAME, "name", MEMBER_TEXT)                                                          \
    ROW(OBJECT_SHA256, "sha256", MEMBER_TEXT)

#define PLAN_TENSOR_TABLE(ROW)                                                                     \
    ROW(TENSOR_VALUE, "value", MEMBER_INTEGER)                                                     \
    ROW(TENSOR_LAYOUT, "layout", MEMBER_TEXT)                                                      \
    ROW(TENSOR_PLACE, "place", MEMBER_TEXT)                                                        \
    ROW(TENSOR_PORT, "port", MEMBER_INTEGER)                                                       \
    ROW(TENSOR_SHARES, "shares", MEMBER_INTEGER_OR_NULL)

#define PLAN_STEP_TABLE(ROW)                                                                       \
    ROW(STEP_KIND, "kind", MEMBER_TEXT)                                                            \
    ROW(STEP_BACKEND, "backend", MEMBER_TEXT)                                                      \
    ROW(STEP_VARIANT, "variant", MEMBER_TEXT)                                                      \
    ROW(STEP_NODES, "nodes", MEMBER_LIST)                                                          \
    ROW(STEP_OPERATORS, "operators", MEMBER_LIST)                                                  \
    ROW(STEP_INPUTS, "inputs", MEMBER_LIST)                                                        \
    ROW(STEP_OUTPUTS, "outputs", MEMBER_LIST)                                                      \
    ROW(STEP_COST, "cost_ns", MEMBER_NUMBER)                                                       \
    ROW(STEP_PATTERN, "pattern", MEMBER_TEXT)                                                      \
    ROW(STEP_IMPLEMENTATION, "implementation", MEMBER_TEXT)                                        \
    ROW(STEP_SCHEDULE, "schedule", MEMBER_TEXT_OR_ABSENT)                                          \
    ROW(STEP_LANE, "lane", MEMBER_INTEGER_OR_ABSENT)

#define PLAN_RESULT_TABLE(ROW)                                                                     \
    ROW(RESULT_NAME, "name", MEMBER_TEXT)                                                          \
    ROW(RESULT_NOTE, "note", MEMBER_TEXT)                                                          \
    ROW(RESULT_CHOSEN, "chosen", MEMBER_BOOLEAN)                                                   \
    ROW(RESULT_MINIMUM, "minimum_ns", MEMBER_NUMBER)                                               \
    ROW(RESULT_MEDIAN, "median_ns", MEMBER_NUMBER)                                                 \
    ROW(RESULT_LOW, "low_ns", MEMBER_NUMBER)                                                       \
    ROW(RESULT_HIGH, "high_ns", MEMBER_NUMBER)                                                     \
    ROW(RESULT_RATIO, "ratio", MEMBER_NUMBER)                                                      \
    ROW(RESULT_RATIO_LOW, "ratio_low", MEMBER_NUMBER)                                              \
    ROW(RESULT_RATIO_HIGH, "ratio_high", MEMBER_NUMBER)                                            \
    ROW(RESULT_PREDICTED, "predicted_ns", MEMBER_NUMBER)                                           \
    ROW(RESULT_STEPS, "steps_ns", MEMBER_NUMBER)                                                   \
    ROW(RESULT_ERROR, "worst_error", MEMBER_NUMBER)                                                \
    ROW(RESULT_PEAK, "peak_bytes", MEMBER_INTEGER)

#define ROW(index, name, kind) index,
enum { PLAN_TABLE(ROW) PLAN_MEMBER_COUNT };
enum { PLAN_MODEL_TABLE(ROW) MODEL_MEMBER_COUNT };
enum { PLAN_SHAPE_TABLE(ROW) SHAPE_MEMBER_COUNT };
enum { PLAN_BACKEND_TABLE(ROW) BACKEND_MEMBER_COUNT };
enum { PLAN_OBJECT_TABLE(ROW) OBJECT_MEMBER_COUNT };
enum { PLAN_TENSOR_TABLE(ROW) TENSOR_MEMBER_COUNT };
enum { PLAN_STEP_TABLE(ROW) STEP_MEMBER_COUNT };
enum { PLAN_RESULT_TABLE(ROW) RESULT_MEMBER_COUNT };
#undef ROW

extern const struct member PLAN_MEMBERS[], PLAN_MODEL_MEMBERS[], PLAN_SHAPE_MEMBERS[],
    PLAN_BACKEND_MEMBERS[], PLAN_TENSOR_MEMBERS[], PLAN_STEP_MEMBERS[], PLAN_RESULT_MEMBERS[],
    PLAN_OBJECT_MEMBERS[];

/* Spellings of enum plan_step_kind and enum plan_place; NULL ends them. */
extern const char *const plan_step_names[], *const plan_place_names[];

#endif
