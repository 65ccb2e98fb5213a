/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recipe.h: a sub-graph translated into the one oneDNN primitive that runs it: its operands as the
 * primitive sees them, its parameters, its post-ops. Translating needs no library and is pure, so
 * it also answers `supports` and `variant`: what translates is supported, and a variant is a choice
 * under which it translates. kernel.c makes the primitive.
 */
#ifndef ONEDNN_RECIPE_H
#define ONEDNN_RECIPE_H

#include <collage/backend.h>
#include <oneapi/dnnl/dnnl_types.h>

enum { MAX_RANK = 6, MAX_SPATIAL = 3, MAX_OPERANDS = 40, MAX_POSTS = 8, MAX_PASSES = 32 };

/* The primitives. */
enum family {
    FAMILY_CONVOLUTION,
    FAMILY_DECONVOLUTION,
    FAMILY_MATMUL,
    FAMILY_INNER_PRODUCT,
    FAMILY_POOLING,
    FAMILY_ELTWISE,
    FAMILY_BINARY,
    FAMILY_SOFTMAX,
    FAMILY_LAYER_NORM,
    FAMILY_BATCH_NORM,
    FAMILY_CONCAT,
    FAMILY_REDUCTION,
    FAMILY_REORDER,
    FAMILY_RESAMPLING,
    FAMILY_LSTM,
    FAMILY_PRELU,
    FAMILY_COUNT
};

enum layout_class {
    LAYOUT_PLAIN,   /* row-major */
    LAYOUT_LAST,    /* channels last: NHWC and its kin */
    LAYOUT_BLOCKED, /* channels in blocks of a vector: nChw16c or nChw8c and their kin */
    LAYOUT_CLASSES
};

enum algorithm { ALGORITHM_DEFAULT, ALGORITHM_INNER_PRODUCT, ALGORITHM_POOLING };

/* One way to run a sub-graph. */
struct choice {
    const char *name;
    enum layout_class in, out;
    enum algorithm algorithm;
    bool sum; /* a residual is added in place, not read as an operand */
};

/* How a constant's contents are rearranged before they are packed. */
enum packing {
    PACKING_NONE,
    PACKING_GATES, /* the rows of LSTM weights, from ONNX's order of the gates to oneDNN's */
    PACKING_BIASES /* the same, and both biases added up */
};

/* A value as an argument of the primitive. */
struct operand {
    int arg;        /* DNNL_ARG_... */
    uint32_t value; /* of the sub-graph; COLLAGE_NO_VALUE: a result that nobody wants, or `zeros` */
    bool zeros;
    int rank;
    dnnl_dims_t dims;
    dnnl_dims_t strides; /* of the row-major contents seen with these dims; used if tag is "" */
    int64_t offset;      /* elements of the value's memory before the first */
    bool part;           /* these dims are a part, at `at`, of a tensor of dims `within` */
    dnnl_dims_t within, at;
    enum packing packing;
    char tag[24];       /* "": as strides say */
    bool constant;      /* packed when the kernel is made */
    bool any;           /* constant, in the layout that the library likes best */
    bool plain_outside; /* the tag's memory is row-major memory too: the host is told so */
    float scale;        /* constants are multiplied by it */
};

enum post_kind { POST_ELTWISE, POST_BINARY, POST_SUM, POST_PRELU };

struct post {
    enum post_kind kind;
    dnnl_alg_kind_t alg;
    float alpha, beta;
    uint32_t value;         /* binary, sum, PRelu: the other operand */
    int64_t dims[MAX_RANK]; /* its dims, aligned with the output's rank */
    bool full;              /* they are the output's */
    int mask;               /* PRelu: bit d: the slopes differ along dimension d */
};

struct recipe {
    const collage_subgraph *graph;
    const collage_target *target;
    const struct choice *choice;
    const collage_variant *variant; /* compiling: the layouts asked for; else NULL */
    collage_message *why;

    uint32_t head;              /* index of the operator that gives the primitive its kind */
    uint32_t tail;              /* one past the last operator behind it that becomes a post-op */
    const collage_node *before; /* a Transpose or Pad of one of the head's operands, else NULL */
    const collage_node *after;  /* a Transpose of the result, else NULL */

    enum family family;
    struct operand operands[MAX_OPERANDS];
    size_t operand_count;
    struct post posts[MAX_POSTS];
    size_t post_count;
    int64_t out_dims[MAX_RANK]; /* of every value of the chain behind the head; rank at least 1 */
    int out_rank;
    int group[MAX_RANK]; /* the primitive's dimension that an output dimension is folded into */
    int group_count;
    uint32_t inplace_value;    /* the output may lie in it; COLLAGE_NO_VALUE if none */
    uint32_t pass, pass_count; /* one primitive each, run in this order */
    bool fill;                 /* the output is filled with fill_value before the first */
    float fill_value;

    /* Parameters of the families, as the library's functions take them. */
    dnnl_alg_kind_t alg;
    float alpha, beta, epsilon;
    unsigned flags;
    bool reverse; /* LSTM: from the last step to the first */
    int axis;
    dnnl_dims_t strides, dilates, kernel, pads_left, pads_right;
};

/* False, and *why, if the sub-graph cannot be run so. */
bool recipe_translate(struct recipe *recipe, const collage_subgraph *graph,
                      const collage_target *target, const struct choice *choice,
                      const collage_variant *variant, collage_message *why);

/* The same for the next of its passes. */
bool recipe_next_pass(struct recipe *recipe);

/* The choices worth trying for the operator that the sub-graph starts with; NULL if unknown. */
const struct choice *recipe_choices(const collage_subgraph *graph, size_t *count);

/* The tag that the primitive expects for a value of the sub-graph ("" unless an operand has one).
 */
const char *recipe_tag(const struct recipe *recipe, uint32_t value);

/* ---- for the translators ---- */

/* Says why not; always false. */
bool refuse(struct recipe *recipe, const char *format, ...) __attribute__((format(printf, 2, 3)));

const collage_node *recipe_head(const struct recipe *recipe);
/* The value of the head's input, NULL if left out; its first output that is not. */
const collage_value *head_input(const struct recipe *recipe, uint32_t index);
const collage_value *head_output(const struct recipe *recipe);
uint32_t head_input_id(const struct recipe *recipe, uint32_t index);
/* The chain's last output: what the primitive writes. */
uint32_t recipe_output_id(const struct recipe *recipe);

bool value_is_constant(const collage_value *value);
int64_t dims_product(const int64_t *dims, int from, int to);

/* Appends an operand in row-major order; NULL (refused) if it is no float32 or there are too many.
 */
struct operand *operand_add(struct recipe *recipe, int arg, uint32_t value, int rank,
                            const int64_t *dims);
/* Gives it the layout of the class; refuses if the value has no such layout. */
bool operand_set_layout(struct recipe *recipe, struct operand *operand, enum layout_class layout);
/* The chain's output, folded by recipe->group. */
struct operand *operand_add_output(struct recipe *recipe, enum layout_class layout);
/* The operand of an element-wise computation whose dims are aligned with out_dims. */
struct operand *operand_add_aligned(struct recipe *recipe, int arg, uint32_t value,
                                    const int64_t *aligned, enum layout_class layout);

/* dims of value, left-padded with ones to the output's rank; false if it does not broadcast to it.
 */
bool value_align(const struct recipe *recipe, const collage_value *value, int64_t *aligned);

/* recipe->group: nothing folded; all but the last; neighbours that broadcast alike. */
void groups_identity(struct recipe *recipe);
void groups_rows(struct recipe *recipe);
void groups_coalesce(struct recipe *recipe, int64_t (*aligned)[MAX_RANK], size_t count);
/* False if dims broadcast along a part of a group only. */
bool groups_fold(const struct recipe *recipe, const int64_t *aligned, int64_t *folded);
bool groups_fit_posts(const struct recipe *recipe);

/* Takes the first post-op away if it adds a constant vector along that output dimension. */
uint32_t recipe_take_bias(struct recipe *recipe, int axis);

/* Translates the operators behind the head into post-ops (chain.c). */
bool chain_collect(struct recipe *recipe);
/* Makes operands of them; the last step of a translation that has post-ops. */
bool chain_place(struct recipe *recipe, enum layout_class layout);

/* Which eltwise algorithm an operator with one non-constant operand `value` is (eltwise.c). */
enum eltwise_match { ELTWISE_NO, ELTWISE_YES, ELTWISE_REFUSED };
enum eltwise_match eltwise_match_node(struct recipe *recipe, const collage_node *node,
                                      uint32_t value, struct post *post);
/* The binary algorithm of that name; dnnl_alg_kind_undef if none. */
dnnl_alg_kind_t binary_algorithm(const char *op_type, bool *commutes);

/* Strides of a row-major tensor seen through a Transpose: of its input in the order of its output's
 * dimensions, or (inverse) of its output in the order of its input's. */
bool transpose_strides(struct recipe *recipe, const collage_node *node, bool inverse,
                       int64_t *strides);

/* What Pad adds to each dimension of its input; negative: takes away (pad.c). */
struct padding {
    int64_t begin[MAX_RANK], end[MAX_RANK];
    float value;
};
bool padding_read(struct recipe *recipe, const collage_node *node, struct padding *out);
/* If a Pad precedes the head, its spatial pads become the window's; refuses if it does something
 * else. value: what the window's own padding counts as. */
bool padding_absorb(struct recipe *recipe, float value);

/* Copies the integers of a constant vector; refuses if it is none or has more than `most`. */
bool constant_ints(struct recipe *recipe, uint32_t id, uint32_t most, int64_t *values,
                   uint32_t *count);
/* An axis counted from the front; refuses one that is out of range. */
bool resolve_axis(struct recipe *recipe, int64_t axis, int rank, int *out);

/* An attribute of the head with `count` numbers, each `fallback` if it is absent; refuses other
 * counts. */
bool head_ints(struct recipe *recipe, const char *name, uint32_t count, int64_t fallback,
               int64_t *values);

/* Strides, dilations, pads and kernel of a convolution or pooling into recipe; checks the output's
 * spatial dims. `extended`: ceil_mode lets windows reach beyond the pads. */
bool window_translate(struct recipe *recipe, const collage_value *in, const collage_value *out,
                      const int64_t *kernel, bool *extended);

/* One for each operator family. */
bool translate_convolution(struct recipe *recipe);
bool translate_deconvolution(struct recipe *recipe);
bool translate_matmul(struct recipe *recipe);
bool translate_gemm(struct recipe *recipe);
bool translate_pooling(struct recipe *recipe);
bool translate_global_pooling(struct recipe *recipe);
bool translate_elementwise(struct recipe *recipe);
bool translate_softmax(struct recipe *recipe);
bool translate_layer_norm(struct recipe *recipe);
bool translate_batch_norm(struct recipe *recipe);
bool translate_concat(struct recipe *recipe);
bool translate_reduction(struct recipe *recipe);
bool translate_transpose(struct recipe *recipe);
bool translate_identity(struct recipe *recipe);
bool translate_slice(struct recipe *recipe);
bool translate_split(struct recipe *recipe);
bool translate_gather(struct recipe *recipe);
bool translate_expand(struct recipe *recipe);
bool translate_pad(struct recipe *recipe);
bool translate_resize(struct recipe *recipe);
bool translate_lstm(struct recipe *recipe);
bool translate_prelu(struct recipe *recipe);

#endif
