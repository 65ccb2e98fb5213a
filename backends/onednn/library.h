/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.h: oneDNN as a table of functions, resolved when the library is loaded. The plugin is
 * compiled with oneDNN's C headers but not linked with it, so that describing what it could do
 * needs no library and the host can set the environment before the thread pool exists.
 */
#ifndef ONEDNN_LIBRARY_H
#define ONEDNN_LIBRARY_H

#include "../onednn_library.h"

#include <collage/backend.h>
#include <oneapi/dnnl/dnnl.h>

/* Every function of oneDNN that the plugin calls, without the prefix dnnl_. */
#define LIBRARY_FUNCTIONS(X)                                                                       \
    X(version)                                                                                     \
    X(engine_create)                                                                               \
    X(engine_destroy)                                                                              \
    X(stream_create)                                                                               \
    X(stream_wait)                                                                                 \
    X(stream_destroy)                                                                              \
    X(memory_desc_create_with_tag)                                                                 \
    X(memory_desc_create_with_strides)                                                             \
    X(memory_desc_create_submemory)                                                                \
    X(memory_desc_clone)                                                                           \
    X(memory_desc_equal)                                                                           \
    X(memory_desc_get_size)                                                                        \
    X(memory_desc_destroy)                                                                         \
    X(memory_create)                                                                               \
    X(memory_set_data_handle)                                                                      \
    X(memory_destroy)                                                                              \
    X(primitive_attr_create)                                                                       \
    X(primitive_attr_destroy)                                                                      \
    X(primitive_attr_set_scratchpad_mode)                                                          \
    X(primitive_attr_set_fpmath_mode)                                                              \
    X(primitive_attr_set_post_ops)                                                                 \
    X(post_ops_create)                                                                             \
    X(post_ops_destroy)                                                                            \
    X(post_ops_append_sum)                                                                         \
    X(post_ops_append_eltwise)                                                                     \
    X(post_ops_append_prelu)                                                                       \
    X(post_ops_append_binary)                                                                      \
    X(primitive_desc_query)                                                                        \
    X(primitive_desc_query_md)                                                                     \
    X(primitive_desc_destroy)                                                                      \
    X(primitive_create)                                                                            \
    X(primitive_execute)                                                                           \
    X(primitive_destroy)                                                                           \
    X(reorder_primitive_desc_create)                                                               \
    X(concat_primitive_desc_create)                                                                \
    X(binary_primitive_desc_create)                                                                \
    X(deconvolution_forward_primitive_desc_create)                                                 \
    X(convolution_forward_primitive_desc_create)                                                   \
    X(eltwise_forward_primitive_desc_create)                                                       \
    X(softmax_forward_primitive_desc_create)                                                       \
    X(pooling_forward_primitive_desc_create)                                                       \
    X(batch_normalization_forward_primitive_desc_create)                                           \
    X(layer_normalization_forward_primitive_desc_create)                                           \
    X(inner_product_forward_primitive_desc_create)                                                 \
    X(matmul_primitive_desc_create)                                                                \
    X(reduction_primitive_desc_create)                                                             \
    X(resampling_forward_primitive_desc_create)                                                    \
    X(prelu_forward_primitive_desc_create)                                                         \
    X(lstm_forward_primitive_desc_create)

struct library {
    struct onednn_library common;
#define FIELD(name) __typeof__(dnnl_##name) *name;
    LIBRARY_FUNCTIONS(FIELD)
#undef FIELD
};

/* Finds and loads oneDNN (onednn_library.h). */
collage_status library_load(struct library *library, collage_message *message);

/* Makes the calling thread's parallel regions use exactly that many threads. */
void library_use_threads(const struct library *library, int threads);

const char *library_status_text(dnnl_status_t status);

#endif
