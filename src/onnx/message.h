/* SPDX-License-Identifier: Apache-2.0 */
/* message.h: unpacking ONNX's protobuf messages from hostile bytes with bounded depth and memory.
 */
#ifndef COLLAGE_ONNX_MESSAGE_H
#define COLLAGE_ONNX_MESSAGE_H

#include <onnx.pb-c.h>

#include "base/error.h"

/* path is for messages. The result is freed by message_free_model. */
collage_status message_unpack_model(const void *bytes, size_t count, const char *path,
                                    Onnx__ModelProto **out, struct error *error);
void message_free_model(Onnx__ModelProto *model);

/* An optional string: "" if it is absent. */
static inline const char *message_string(const char *text)
{
    return text ? text : "";
}

#endif
