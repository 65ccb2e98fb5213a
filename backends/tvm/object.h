/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object.h: a compiled kernel as the shared object that the helper's source becomes (object.py
 * writes it): functions of tvm-ffi's calling convention, a table of their arguments, and what they
 * ask of a runtime, which is this plugin: threads, and memory for a while.
 */
#ifndef TVM_OBJECT_H
#define TVM_OBJECT_H

#include "../native/code.h"
#include "tvm.h"

/* The state of a kernel; pass it to object_destroy, however far it came. */
struct object;

/* Loads it, and packs the constants that it wants packed. */
collage_status object_create(const void *bytes, size_t count, const collage_kernel *kernel,
                             const collage_compile_request *request, struct object **out,
                             collage_message *message);
collage_status object_run(struct object *object, const collage_kernel *kernel,
                          const void *const *inputs, void *const *outputs,
                          collage_message *message);
void object_destroy(struct object *object, collage_kernel *kernel);

/* What it is, for reports. */
const char *object_implementation(const struct object *object);
uint64_t object_weight_bytes(const struct object *object);

#endif
