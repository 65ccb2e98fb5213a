/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.h: oneDNN's Graph API as a table of functions, resolved when the library is loaded. It is
 * the file that the plugin `onednn` opens, too (../onednn_library.h).
 */
#ifndef ONEDNN_GRAPH_LIBRARY_H
#define ONEDNN_GRAPH_LIBRARY_H

#include "../onednn_library.h"

#include <collage/backend.h>
#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_graph.h>

/* Every function of oneDNN that the plugin calls, without the prefix dnnl_. */
#define LIBRARY_FUNCTIONS(X)                                                                       \
    X(version)                                                                                     \
    X(engine_destroy)                                                                              \
    X(stream_create)                                                                               \
    X(stream_wait)                                                                                 \
    X(stream_destroy)                                                                              \
    X(graph_allocator_create)                                                                      \
    X(graph_allocator_destroy)                                                                     \
    X(graph_make_engine_with_allocator)                                                            \
    X(graph_logical_tensor_get_mem_size)                                                           \
    X(graph_tensor_create)                                                                         \
    X(graph_tensor_set_data_handle)                                                                \
    X(graph_tensor_destroy)                                                                        \
    X(graph_op_create)                                                                             \
    X(graph_op_add_input)                                                                          \
    X(graph_op_add_output)                                                                         \
    X(graph_op_set_attr_f32)                                                                       \
    X(graph_op_set_attr_bool)                                                                      \
    X(graph_op_set_attr_s64)                                                                       \
    X(graph_op_set_attr_str)                                                                       \
    X(graph_op_destroy)                                                                            \
    X(graph_graph_create_with_fpmath_mode)                                                         \
    X(graph_add_op)                                                                                \
    X(graph_graph_finalize)                                                                        \
    X(graph_graph_filter)                                                                          \
    X(graph_graph_get_partition_num)                                                               \
    X(graph_graph_get_partitions)                                                                  \
    X(graph_graph_destroy)                                                                         \
    X(graph_partition_create_with_op)                                                              \
    X(graph_partition_get_op_num)                                                                  \
    X(graph_partition_get_ops)                                                                     \
    X(graph_partition_get_input_ports_num)                                                         \
    X(graph_partition_get_input_ports)                                                             \
    X(graph_partition_get_output_ports_num)                                                        \
    X(graph_partition_get_output_ports)                                                            \
    X(graph_partition_is_supported)                                                                \
    X(graph_partition_compile)                                                                     \
    X(graph_partition_destroy)                                                                     \
    X(graph_compiled_partition_create)                                                             \
    X(graph_compiled_partition_execute)                                                            \
    X(graph_compiled_partition_query_logical_tensor)                                               \
    X(graph_compiled_partition_get_inplace_ports)                                                  \
    X(graph_compiled_partition_destroy)                                                            \
    X(graph_set_compiled_partition_cache_capacity)                                                 \
    X(graph_set_constant_tensor_cache)

struct library {
    struct onednn_library common;
#define FIELD(name) __typeof__(dnnl_##name) *name;
    LIBRARY_FUNCTIONS(FIELD)
#undef FIELD
};

struct collage_backend {
    struct library library;
    dnnl_engine_t engine; /* with an allocator of ours (pool.h) */
};

/* Finds and loads oneDNN; one that was built without its Graph API is refused. */
collage_status library_load(struct library *library, collage_message *message);

#endif
