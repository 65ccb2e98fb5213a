/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h: a sub-graph as an ONNX Runtime session: compiled from an ONNX model in memory whose
 * large weights stay where the host has them, run on the caller's own memory.
 */
#ifndef COLLAGE_ONNXRUNTIME_SESSION_H
#define COLLAGE_ONNXRUNTIME_SESSION_H

#include "library.h"

collage_status session_compile(collage_backend *backend, const collage_compile_request *request,
                               collage_kernel **out, collage_message *message);
void session_info(const collage_kernel *kernel, collage_kernel_info *info);
collage_status session_run(collage_kernel *kernel, collage_stream *stream,
                           const void *const *inputs, void *const *outputs, void *scratch,
                           collage_message *message);
void session_destroy(collage_kernel *kernel);

#endif
