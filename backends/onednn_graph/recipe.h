/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recipe.h: a sub-graph as operations of oneDNN Graph: tensors, operations on them, attributes.
 * Translating needs no library and is pure, so it also answers `supports`: what translates is
 * offered, and build.c makes a graph of it. Failing is latched: after it all calls do nothing.
 */
#ifndef ONEDNN_GRAPH_RECIPE_H
#define ONEDNN_GRAPH_RECIPE_H

#include <collage/backend.h>
#include <oneapi/dnnl/dnnl_graph_types.h>

enum { MAX_RANK = 6, MAX_SPATIAL = 3, MAX_ATTRIBUTES = 10 };

#define NO_TENSOR SIZE_MAX

enum attribute_type { ATTRIBUTE_INTEGERS, ATTRIBUTE_NUMBER, ATTRIBUTE_BOOL, ATTRIBUTE_TEXT };

struct attribute {
    dnnl_graph_op_attr_t name;
    enum attribute_type type;
    size_t count; /* of INTEGERS */
    int64_t integers[MAX_RANK];
    float number;
    const char *text;
};

/* Its id in the library is its index. */
struct tensor {
    uint32_t value;    /* of the sub-graph; COLLAGE_NO_VALUE: between operations, or made here */
    bool outside;      /* an input of the sub-graph */
    const float *data; /* constants */
    int rank;          /* at least 1: a single number is a vector of one */
    int64_t dims[MAX_RANK];
};

/* One result each. */
struct operation {
    dnnl_graph_op_kind_t kind;
    uint32_t node;       /* of the sub-graph, for messages */
    size_t first, count; /* its operands, in recipe.operands */
    size_t result;
    size_t attribute_count;
    struct attribute attributes[MAX_ATTRIBUTES];
};

/* A constant that the sub-graph does not have. */
struct numbers {
    struct numbers *next;
    float data[];
};

struct recipe {
    const collage_subgraph *graph;
    collage_message *why; /* NULL: nobody wants to know */
    bool failed, memory;  /* memory: for want of it */
    uint32_t node;        /* the one that is being translated */

    size_t *of_value; /* the sub-graph's values as tensors; NO_TENSOR: not yet */
    struct tensor *tensors;
    size_t tensor_count, tensor_capacity;
    struct operation *operations;
    size_t operation_count, operation_capacity;
    size_t *operands;
    size_t operand_count, operand_capacity;
    struct numbers *numbers;
};

/* Translates the sub-graph; false, with the reason in `why`, if it cannot be. Release it in either
 * case; it refers to the sub-graph. */
bool recipe_translate(struct recipe *recipe, const collage_subgraph *graph, collage_message *why);
void recipe_release(struct recipe *recipe);

/* ---- for the translators of operators ---- */

/* A node's translator (operators.h lists them). */
typedef void (*translator)(struct recipe *recipe, const collage_node *node);

/* Says why not, with the operator in front. */
__attribute__((format(printf, 2, 3))) void recipe_refuse(struct recipe *recipe, const char *format,
                                                         ...);

/* An operand of the node; NULL if it is left out. */
const collage_value *recipe_input(const struct recipe *recipe, const collage_node *node,
                                  uint32_t index);

/* An operand as a tensor. */
size_t recipe_operand(struct recipe *recipe, const collage_node *node, uint32_t index);

/* The operand seen with other dims: of what comes from outside of the sub-graph only. */
bool recipe_can_view(const struct recipe *recipe, const collage_node *node, uint32_t index);
size_t recipe_view(struct recipe *recipe, const collage_node *node, uint32_t index, int rank,
                   const int64_t *dims);

/* The node's first output as a tensor. */
size_t recipe_result(struct recipe *recipe, const collage_node *node);

/* A tensor between two operations of a node. */
size_t recipe_between(struct recipe *recipe, int rank, const int64_t *dims);

/* A constant vector of `count` times that number. */
size_t recipe_constant(struct recipe *recipe, int64_t count, float number);

/* Appends an operation; the attributes that are set afterwards are its own. */
void recipe_add(struct recipe *recipe, dnnl_graph_op_kind_t kind, const size_t *operands,
                size_t count, size_t result);
void recipe_set_integers(struct recipe *recipe, dnnl_graph_op_attr_t name, const int64_t *values,
                         size_t count);
void recipe_set_integer(struct recipe *recipe, dnnl_graph_op_attr_t name, int64_t value);
void recipe_set_number(struct recipe *recipe, dnnl_graph_op_attr_t name, float value);
void recipe_set_bool(struct recipe *recipe, dnnl_graph_op_attr_t name, bool value);
void recipe_set_text(struct recipe *recipe, dnnl_graph_op_attr_t name, const char *text);

/* The one number in a constant operand; false if it is none. */
bool recipe_number(const struct recipe *recipe, const collage_node *node, uint32_t index,
                   float *number);

/* An axis counted from the front; refuses what is out of range. */
bool recipe_axis(struct recipe *recipe, int64_t axis, int32_t rank, int64_t *out);

#endif
