/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ov_api.h: the functions of OpenVINO's C API that this plugin calls, in our own words (after the
 * headers openvino/c/ of release 2026.4). OV_FUNCTIONS has one row a function: result, name,
 * arguments; library.c looks them up by name. OpenVINO catches every C++ exception behind them and
 * returns a code; its text is fetched with ov_get_last_err_msg.
 */
#ifndef COLLAGE_OPENVINO_OV_API_H
#define COLLAGE_OPENVINO_OV_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ov_core ov_core_t;
typedef struct ov_model ov_model_t;
typedef struct ov_compiled_model ov_compiled_model_t;
typedef struct ov_infer_request ov_infer_request_t;
typedef struct ov_tensor ov_tensor_t;
typedef struct ov_output_const_port ov_port_t;

typedef int ov_status; /* 0: success, otherwise negative */

typedef struct ov_version {
    const char *build;
    const char *description;
} ov_version;

typedef struct ov_shape {
    int64_t rank;
    int64_t *dims;
} ov_shape;

typedef struct ov_dimension {
    int64_t min, max;
} ov_dimension;

/* A shape whose dimensions may be ranges; its rank is one, too. */
typedef struct ov_partial_shape {
    ov_dimension rank;
    ov_dimension *dims;
} ov_partial_shape;

/* Its element types that are used; the numbers are not ONNX's. */
enum {
    OV_UNKNOWN = 0,
    OV_BOOLEAN = 1,
    OV_F32 = 4,
    OV_I8 = 7,
    OV_I32 = 9,
    OV_I64 = 10,
    OV_U8 = 16,
};

#define OV_FUNCTIONS(ROW)                                                                          \
    ROW(ov_status, ov_get_openvino_version, (ov_version *))                                        \
    ROW(void, ov_version_free, (ov_version *))                                                     \
    ROW(const char *, ov_get_error_info, (ov_status))                                              \
    ROW(const char *, ov_get_last_err_msg, (void))                                                 \
    ROW(void, ov_free, (const char *))                                                             \
    ROW(ov_status, ov_core_create, (ov_core_t **))                                                 \
    ROW(void, ov_core_free, (ov_core_t *))                                                         \
    ROW(ov_status, ov_core_read_model,                                                             \
        (const ov_core_t *, const char *path, const char *weights, ov_model_t **))                 \
    ROW(ov_status, ov_core_read_model_from_memory_buffer,                                          \
        (const ov_core_t *, const char *bytes, size_t count, const ov_tensor_t *weights,           \
         ov_model_t **))                                                                           \
    ROW(ov_status, ov_core_compile_model,                                                          \
        (const ov_core_t *, const ov_model_t *, const char *device, size_t argument_count,         \
         ov_compiled_model_t **, ...))                                                             \
    ROW(bool, ov_model_is_dynamic, (const ov_model_t *))                                           \
    ROW(ov_status, ov_model_reshape,                                                               \
        (const ov_model_t *, const char **names, const ov_partial_shape *, size_t count))          \
    ROW(void, ov_model_free, (ov_model_t *))                                                       \
    ROW(ov_status, ov_compiled_model_inputs_size, (const ov_compiled_model_t *, size_t *))         \
    ROW(ov_status, ov_compiled_model_outputs_size, (const ov_compiled_model_t *, size_t *))        \
    ROW(ov_status, ov_compiled_model_input_by_index,                                               \
        (const ov_compiled_model_t *, size_t index, ov_port_t **))                                 \
    ROW(ov_status, ov_compiled_model_output_by_index,                                              \
        (const ov_compiled_model_t *, size_t index, ov_port_t **))                                 \
    ROW(ov_status, ov_compiled_model_create_infer_request,                                         \
        (const ov_compiled_model_t *, ov_infer_request_t **))                                      \
    ROW(void, ov_compiled_model_free, (ov_compiled_model_t *))                                     \
    ROW(ov_status, ov_compiled_model_input_by_name,                                                \
        (const ov_compiled_model_t *, const char *name, ov_port_t **))                             \
    ROW(ov_status, ov_compiled_model_output_by_name,                                               \
        (const ov_compiled_model_t *, const char *name, ov_port_t **))                             \
    ROW(ov_status, ov_port_get_element_type, (const ov_port_t *, int *))                           \
    ROW(ov_status, ov_const_port_get_shape, (const ov_port_t *, ov_shape *))                       \
    ROW(void, ov_output_const_port_free, (ov_port_t *))                                            \
    ROW(ov_status, ov_shape_free, (ov_shape *))                                                    \
    ROW(ov_status, ov_tensor_create_from_host_ptr,                                                 \
        (int element_type, ov_shape, void *data, ov_tensor_t **))                                  \
    ROW(void, ov_tensor_free, (ov_tensor_t *))                                                     \
    ROW(ov_status, ov_infer_request_set_input_tensor_by_index,                                     \
        (ov_infer_request_t *, size_t index, const ov_tensor_t *))                                 \
    ROW(ov_status, ov_infer_request_set_output_tensor_by_index,                                    \
        (ov_infer_request_t *, size_t index, const ov_tensor_t *))                                 \
    ROW(ov_status, ov_infer_request_set_tensor_by_const_port,                                      \
        (ov_infer_request_t *, const ov_port_t *, const ov_tensor_t *))                            \
    ROW(ov_status, ov_infer_request_infer, (ov_infer_request_t *))                                 \
    ROW(void, ov_infer_request_free, (ov_infer_request_t *))

/* The functions, by name. */
struct ov_api {
#define ROW(result, name, arguments) result(*name) arguments;
    OV_FUNCTIONS(ROW)
#undef ROW
};

#endif
