/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.h: XNNPACK as a table of functions, resolved when the library is loaded. The plugin is
 * compiled with the header of its operators' create-and-setup interface (until 2023), which has no
 * number: a library with the interface that followed it is told by its xnn_reshape functions.
 */
#ifndef XNNPACK_LIBRARY_H
#define XNNPACK_LIBRARY_H

#include <collage/backend.h>
#include <pthread.h>
#include <xnnpack.h>

/* Operators that are made with (channels, strides, flags) and perhaps one number. */
#define LIBRARY_UNARY(X)                                                                           \
    X(abs)                                                                                         \
    X(bankers_rounding)                                                                            \
    X(ceiling)                                                                                     \
    X(clamp)                                                                                       \
    X(elu)                                                                                         \
    X(floor)                                                                                       \
    X(hardswish)                                                                                   \
    X(leaky_relu)                                                                                  \
    X(negate)                                                                                      \
    X(sigmoid)                                                                                     \
    X(square_root)                                                                                 \
    X(prelu)                                                                                       \
    X(softmax)                                                                                     \
    X(fully_connected)

#define LIBRARY_BINARY(X)                                                                          \
    X(add)                                                                                         \
    X(subtract)                                                                                    \
    X(multiply)                                                                                    \
    X(divide)                                                                                      \
    X(maximum)                                                                                     \
    X(minimum)

#define LIBRARY_WINDOW(X)                                                                          \
    X(convolution2d)                                                                               \
    X(deconvolution2d)                                                                             \
    X(max_pooling2d)                                                                               \
    X(average_pooling2d)                                                                           \
    X(resize_bilinear2d)

/* Every function that the plugin calls, but for the pool of threads: its name, and the field. */
#define LIBRARY_FUNCTIONS(X)                                                                       \
    X(xnn_initialize)                                                                              \
    X(xnn_run_operator)                                                                            \
    X(xnn_delete_operator)                                                                         \
    X(xnn_create_global_average_pooling_nwc_f32)                                                   \
    X(xnn_setup_global_average_pooling_nwc_f32)

struct library {
    void *handle;  /* of dlopen; never closed */
    void *threads; /* of libpthreadpool */
    char version_text[48];
#define FIELD(name) __typeof__(name) *name;
    LIBRARY_FUNCTIONS(FIELD)
#undef FIELD
#define FIELDS(name)                                                                               \
    __typeof__(xnn_create_##name##_nc_f32) *create_##name;                                         \
    __typeof__(xnn_setup_##name##_nc_f32) *setup_##name;
    LIBRARY_UNARY(FIELDS)
#undef FIELDS
#define FIELDS(name)                                                                               \
    __typeof__(xnn_create_##name##_nd_f32) *create_##name;                                         \
    __typeof__(xnn_setup_##name##_nd_f32) *setup_##name;
    LIBRARY_BINARY(FIELDS)
#undef FIELDS
#define FIELDS(name)                                                                               \
    __typeof__(xnn_create_##name##_nhwc_f32) *create_##name;                                       \
    __typeof__(xnn_setup_##name##_nhwc_f32) *setup_##name;
    LIBRARY_WINDOW(FIELDS)
#undef FIELDS
    pthreadpool_t (*pool_create)(size_t threads);
    void (*pool_destroy)(pthreadpool_t pool);
};

/* Loads $COLLAGE_XNNPACK_LIBRARY, else the one beside the plugins, else the one that the build
 * found, else the system's; and initialises it. */
collage_status library_load(struct library *library, collage_message *message);

const char *library_status_text(enum xnn_status status);

#endif
