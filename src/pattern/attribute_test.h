/* SPDX-License-Identifier: Apache-2.0 */
/* attribute_test.h: what a pattern says about an operator and its attributes: "Conv[group=1,
 * strides=[1, 1]]". A left-out attribute has ONNX's default, where that is a constant. */
#ifndef COLLAGE_PATTERN_ATTRIBUTE_TEST_H
#define COLLAGE_PATTERN_ATTRIBUTE_TEST_H

#include "graph/graph.h"
#include "pattern/scanner.h"

enum comparison { IS_EQUAL, IS_DIFFERENT, IS_LESS, IS_AT_MOST, IS_MORE, IS_AT_LEAST };

struct attribute_test {
    const char *name;
    enum comparison comparison;
    collage_attribute_kind kind; /* INT, FLOAT: `numbers` has one; INTS, FLOATS; STRING: `text` */
    const double *numbers;
    uint32_t count;
    const char *text;
};

/* One operator that a pattern's node may be. */
struct op_choice {
    const struct op *op;
    const struct attribute_test *tests;
    uint32_t test_count;
};

/* ops = op | "(" op { "|" op } ")"        op = Op [ "[" test { "," test } "]" ]
 * At most 64 operators, 16 tests each. False after an error. */
bool op_choices_parse(struct scanner *scanner, const struct op_choice **out, uint32_t *count);
/* A single one. */
bool op_choice_parse(struct scanner *scanner, struct op_choice *out);

bool op_choice_takes(const struct op_choice *choice, const struct node *node);
bool op_choices_take(const struct op_choice *choices, uint32_t count, const struct node *node);

/* Whole numbers, or one of a list: true if the node has it or ONNX has a default for it. */
bool attribute_integer(const struct node *node, const char *name, int64_t index, int64_t *out);

/* Is "==" next, or another comparison? Takes it. "=" is "==". */
bool comparison_accept(struct scanner *scanner, enum comparison *out);

#endif
