/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_file.h: a sub-graph as an ONNX file with its large weights beside it, in a private folder.
 * OpenVINO maps weights that lie in a file and keeps them mapped; those inside of a model in memory
 * it copies, twice while it compiles. The folder can go as soon as the model has been read.
 */
#ifndef COLLAGE_OPENVINO_MODEL_FILE_H
#define COLLAGE_OPENVINO_MODEL_FILE_H

#include <collage/backend.h>

enum { MODEL_PATH = 512 };

struct model_file {
    char folder[MODEL_PATH];
    char model[MODEL_PATH + 16], weights[MODEL_PATH + 16];
};

/* Does it have enough weights to be worth a file? */
bool model_file_is_worth(const collage_subgraph *subgraph);

/* In $TMPDIR or /tmp. Whatever it returns, model_file_remove cleans up. */
collage_status model_file_write(const collage_host *host, const collage_subgraph *subgraph,
                                struct model_file *out, collage_message *message);
void model_file_remove(const struct model_file *file);

#endif
