/* SPDX-License-Identifier: Apache-2.0 */
#include "primitive.h"

#include "../message.h"
#include "descriptor.h"

#include <string.h>

struct builder {
    const struct library *library;
    dnnl_engine_t engine;
    const struct recipe *recipe;
    const dnnl_memory_desc_t *descriptors;
    dnnl_primitive_attr_t attributes;
};

/* The descriptor of that argument, NULL if there is none. */
static const_dnnl_memory_desc_t of(const struct builder *b, int arg)
{
    for (size_t k = 0; k < b->recipe->operand_count; k++) {
        if (b->recipe->operands[k].arg == arg)
            return b->descriptors[k];
    }
    return NULL;
}

static dnnl_status_t make_convolution(const struct builder *b, dnnl_primitive_desc_t *out)
{
    const struct recipe *r = b->recipe;
    return b->library->convolution_forward_primitive_desc_create(
        out, b->engine, dnnl_forward_inference, dnnl_convolution_direct, of(b, DNNL_ARG_SRC),
        of(b, DNNL_ARG_WEIGHTS), of(b, DNNL_ARG_BIAS), of(b, DNNL_ARG_DST), r->strides, r->dilates,
        r->pads_left, r->pads_right, b->attributes);
}

static dnnl_status_t make_deconvolution(const struct builder *b, dnnl_primitive_desc_t *out)
{
    const struct recipe *r = b->recipe;
    return b->library->deconvolution_forward_primitive_desc_create(
        out, b->engine, dnnl_forward_inference, dnnl_deconvolution_direct, of(b, DNNL_ARG_SRC),
        of(b, DNNL_ARG_WEIGHTS), of(b, DNNL_ARG_BIAS), of(b, DNNL_ARG_DST), r->strides, r->dilates,
        r->pads_left, r->pads_right, b->attributes);
}

static dnnl_status_t make_matmul(const struct builder *b, dnnl_primitive_desc_t *out)
{
    return b->library->matmul_primitive_desc_create(out, b->engine, of(b, DNNL_ARG_SRC),
                                                    of(b, DNNL_ARG_WEIGHTS), of(b, DNNL_ARG_BIAS),
                                                    of(b, DNNL_ARG_DST), b->attributes);
}

static dnnl_status_t make_inner_product(const struct builder *b, dnnl_primitive_desc_t *out)
{
    return b->library->inner_product_forward_primitive_desc_create(
        out, b->engine, dnnl_forward_inference, of(b, DNNL_ARG_SRC), of(b, DNNL_ARG_WEIGHTS),
        of(b, DNNL_ARG_BIAS), of(b, DNNL_ARG_DST), b->attributes);
}

static dnnl_status_t make_pooling(const struct builder *b, dnnl_primitive_desc_t *out)
{
    const struct recipe *r = b->recipe;
    return b->library->pooling_forward_primitive_desc_create(
        out, b->engine, dnnl_forward_inference, r->alg, of(b, DNNL_ARG_SRC), of(b, DNNL_ARG_DST),
        r->strides, r->kernel, r->dilates, r->pads_left, r->pads_right, b->attributes);
}

static dnnl_status_t make_eltwise(const struct builder *b, dnnl_primitive_desc_t *out)
{
    const struct recipe *r = b->recipe;
    return b->library->eltwise_forward_primitive_desc_create(
        out, b->engine, dnnl_forward_inference, r->alg, of(b, DNNL_ARG_SRC), of(b, DNNL_ARG_DST),
        r->alpha, r->beta, b->attributes);
}

static dnnl_status_t make_binary(const struct builder *b, dnnl_primitive_desc_t *out)
{
    return b->library->binary_primitive_desc_create(out, b->engine, b->recipe->alg,
                                                    of(b, DNNL_ARG_SRC_0), of(b, DNNL_ARG_SRC_1),
                                                    of(b, DNNL_ARG_DST), b->attributes);
}

static dnnl_status_t make_softmax(const struct builder *b, dnnl_primitive_desc_t *out)
{
    const struct recipe *r = b->recipe;
    return b->library->softmax_forward_primitive_desc_create(
        out, b->engine, dnnl_forward_inference, r->alg, of(b, DNNL_ARG_SRC), of(b, DNNL_ARG_DST),
        r->axis, b->attributes);
}

static dnnl_status_t make_layer_norm(const struct builder *b, dnnl_primitive_desc_t *out)
{
    const struct recipe *r = b->recipe;
    return b->library->layer_normalization_forward_primitive_desc_create(
        out, b->engine, dnnl_forward_inference, of(b, DNNL_ARG_SRC), of(b, DNNL_ARG_DST), NULL,
        r->epsilon, r->flags, b->attributes);
}

static dnnl_status_t make_batch_norm(const struct builder *b, dnnl_primitive_desc_t *out)
{
    const struct recipe *r = b->recipe;
    return b->library->batch_normalization_forward_primitive_desc_create(
        out, b->engine, dnnl_forward_inference, of(b, DNNL_ARG_SRC), of(b, DNNL_ARG_DST),
        r->epsilon, r->flags, b->attributes);
}

static dnnl_status_t make_concat(const struct builder *b, dnnl_primitive_desc_t *out)
{
    const_dnnl_memory_desc_t sources[MAX_OPERANDS];
    int count = 0;
    for (; of(b, DNNL_ARG_MULTIPLE_SRC + count); count++)
        sources[count] = of(b, DNNL_ARG_MULTIPLE_SRC + count);
    return b->library->concat_primitive_desc_create(out, b->engine, of(b, DNNL_ARG_DST), count,
                                                    b->recipe->axis, sources, b->attributes);
}

static dnnl_status_t make_reduction(const struct builder *b, dnnl_primitive_desc_t *out)
{
    const struct recipe *r = b->recipe;
    return b->library->reduction_primitive_desc_create(out, b->engine, r->alg, of(b, DNNL_ARG_SRC),
                                                       of(b, DNNL_ARG_DST), r->alpha, 0.0f,
                                                       b->attributes);
}

static dnnl_status_t make_reorder(const struct builder *b, dnnl_primitive_desc_t *out)
{
    return b->library->reorder_primitive_desc_create(out, of(b, DNNL_ARG_FROM), b->engine,
                                                     of(b, DNNL_ARG_TO), b->engine, b->attributes);
}

static dnnl_status_t make_resampling(const struct builder *b, dnnl_primitive_desc_t *out)
{
    return b->library->resampling_forward_primitive_desc_create(
        out, b->engine, dnnl_forward_inference, b->recipe->alg, NULL, of(b, DNNL_ARG_SRC),
        of(b, DNNL_ARG_DST), b->attributes);
}

static dnnl_status_t make_lstm(const struct builder *b, dnnl_primitive_desc_t *out)
{
    dnnl_rnn_direction_t direction =
        b->recipe->reverse ? dnnl_unidirectional_right2left : dnnl_unidirectional_left2right;
    return b->library->lstm_forward_primitive_desc_create(
        out, b->engine, dnnl_forward_inference, direction, of(b, DNNL_ARG_SRC_LAYER),
        of(b, DNNL_ARG_SRC_ITER), of(b, DNNL_ARG_SRC_ITER_C), of(b, DNNL_ARG_WEIGHTS_LAYER),
        of(b, DNNL_ARG_WEIGHTS_ITER), NULL, NULL, of(b, DNNL_ARG_BIAS), of(b, DNNL_ARG_DST_LAYER),
        of(b, DNNL_ARG_DST_ITER), of(b, DNNL_ARG_DST_ITER_C), 0, b->attributes);
}

static dnnl_status_t make_prelu(const struct builder *b, dnnl_primitive_desc_t *out)
{
    return b->library->prelu_forward_primitive_desc_create(
        out, b->engine, dnnl_forward_inference, of(b, DNNL_ARG_SRC), of(b, DNNL_ARG_WEIGHTS),
        of(b, DNNL_ARG_DST), b->attributes);
}

static const struct maker {
    const char *name;
    dnnl_status_t (*make)(const struct builder *builder, dnnl_primitive_desc_t *out);
    bool heavy; /* the library's plain loops are out of the question, even row-major */
} makers[FAMILY_COUNT] = {
    [FAMILY_CONVOLUTION] = { "convolution", make_convolution, true },
    [FAMILY_DECONVOLUTION] = { "deconvolution", make_deconvolution, true },
    [FAMILY_MATMUL] = { "matmul", make_matmul, true },
    [FAMILY_INNER_PRODUCT] = { "inner product", make_inner_product, true },
    [FAMILY_POOLING] = { "pooling", make_pooling, false },
    [FAMILY_ELTWISE] = { "element-wise", make_eltwise, false },
    [FAMILY_BINARY] = { "binary", make_binary, false },
    [FAMILY_SOFTMAX] = { "softmax", make_softmax, false },
    [FAMILY_LAYER_NORM] = { "layer normalisation", make_layer_norm, false },
    [FAMILY_BATCH_NORM] = { "batch normalisation", make_batch_norm, false },
    [FAMILY_CONCAT] = { "concat", make_concat, false },
    [FAMILY_REDUCTION] = { "reduction", make_reduction, false },
    [FAMILY_REORDER] = { "reorder", make_reorder, false },
    [FAMILY_RESAMPLING] = { "resampling", make_resampling, false },
    [FAMILY_LSTM] = { "LSTM", make_lstm, true },
    [FAMILY_PRELU] = { "PRelu", make_prelu, false },
};

static dnnl_status_t append_posts(const struct builder *b, dnnl_post_ops_t posts)
{
    dnnl_status_t status = dnnl_success;
    for (size_t k = 0; k < b->recipe->post_count && status == dnnl_success; k++) {
        const struct post *post = &b->recipe->posts[k];
        int arg = DNNL_ARG_ATTR_MULTIPLE_POST_OP((int)k) | DNNL_ARG_SRC_1;
        switch (post->kind) {
        case POST_ELTWISE:
            status = b->library->post_ops_append_eltwise(posts, post->alg, post->alpha, post->beta);
            break;
        case POST_BINARY:
            status = b->library->post_ops_append_binary(posts, post->alg, of(b, arg));
            break;
        case POST_PRELU:
            status = b->library->post_ops_append_prelu(posts, post->mask);
            break;
        case POST_SUM:
            status = b->library->post_ops_append_sum(posts, 1.0f, 0, dnnl_data_type_undef);
            break;
        }
    }
    return status;
}

static dnnl_status_t make_attributes(struct builder *b)
{
    dnnl_post_ops_t posts = NULL;
    dnnl_status_t status = b->library->primitive_attr_create(&b->attributes);
    if (status == dnnl_success)
        status = b->library->primitive_attr_set_scratchpad_mode(b->attributes,
                                                                dnnl_scratchpad_mode_user);
    if (status == dnnl_success)
        status = b->library->primitive_attr_set_fpmath_mode(b->attributes, dnnl_fpmath_mode_strict);
    if (status != dnnl_success || b->recipe->post_count == 0)
        return status;
    status = b->library->post_ops_create(&posts);
    if (status == dnnl_success)
        status = append_posts(b, posts);
    if (status == dnnl_success)
        status = b->library->primitive_attr_set_post_ops(b->attributes, posts);
    if (posts)
        b->library->post_ops_destroy(posts);
    return status;
}

static bool is_reference(const struct library *library, const_dnnl_primitive_desc_t descriptor)
{
    const char *text = NULL;
    library->primitive_desc_query(descriptor, dnnl_query_impl_info_str, 0, &text);
    return text && (strncmp(text, "ref", 3) == 0 || strstr(text, "+ref")); /* nested, too */
}

static collage_status make(const struct builder *b, struct primitive *out, collage_message *message)
{
    const struct maker *maker = &makers[b->recipe->family];
    dnnl_status_t status = maker->make(b, &out->descriptor);
    const struct choice *choice = b->recipe->choice;
    /* Worth it only if it is fast: a layout or a fusion that others do without. */
    bool special =
        choice->in != LAYOUT_PLAIN || choice->out != LAYOUT_PLAIN || b->recipe->post_count > 0;
    if (status == dnnl_success && (maker->heavy || special) &&
        is_reference(b->library, out->descriptor))
        return fail(message, COLLAGE_ERROR_UNSUPPORTED,
                    "oneDNN has only its slow reference for this %s", maker->name);
    if (status == dnnl_success)
        status = b->library->primitive_create(&out->primitive, out->descriptor);
    if (status == dnnl_success)
        return COLLAGE_OK;
    collage_status failure = status == dnnl_out_of_memory   ? COLLAGE_ERROR_MEMORY
                             : status == dnnl_unimplemented ? COLLAGE_ERROR_UNSUPPORTED
                                                            : COLLAGE_ERROR_BACKEND;
    return fail(message, failure, "oneDNN cannot make this %s (variant %s): %s", maker->name,
                b->recipe->choice->name, library_status_text(status));
}

collage_status primitive_make(const struct library *library, dnnl_engine_t engine,
                              const struct recipe *recipe, struct primitive *out,
                              collage_message *message)
{
    struct builder b = { .library = library, .engine = engine, .recipe = recipe };
    memset(out, 0, sizeof *out);
    b.descriptors = out->descriptors;
    collage_status status = COLLAGE_OK;
    for (size_t k = 0; k < recipe->operand_count && status == COLLAGE_OK; k++)
        status = descriptor_create(library, &recipe->operands[k], &out->descriptors[k], message);
    if (status == COLLAGE_OK) {
        dnnl_status_t result = make_attributes(&b);
        status = result == dnnl_success
                     ? make(&b, out, message)
                     : fail(message, COLLAGE_ERROR_UNSUPPORTED, "oneDNN refuses the post-ops: %s",
                            library_status_text(result));
    }
    if (b.attributes)
        library->primitive_attr_destroy(b.attributes);
    if (status != COLLAGE_OK)
        primitive_release(library, out);
    return status;
}

void primitive_release(const struct library *library, struct primitive *primitive)
{
    for (size_t k = 0; k < MAX_OPERANDS; k++) {
        if (primitive->descriptors[k])
            library->memory_desc_destroy(primitive->descriptors[k]);
    }
    if (primitive->primitive)
        library->primitive_destroy(primitive->primitive);
    if (primitive->descriptor)
        library->primitive_desc_destroy(primitive->descriptor);
    memset(primitive, 0, sizeof *primitive);
}
