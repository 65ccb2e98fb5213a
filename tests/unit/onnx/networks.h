/* SPDX-License-Identifier: Apache-2.0 */
/* networks.h: the benchmark networks in a folder of their own, with real weights (the two tiny
 * ones) or with a sparse file of zeros in their place. */
#ifndef COLLAGE_TESTS_NETWORKS_H
#define COLLAGE_TESTS_NETWORKS_H

#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#include "onnx/message.h"
#include "onnx/onnx.h"

static const char *const network_names[] = {
    "bert_base",
    "convnext_tiny",
    "dcgan",
    "densenet121",
    "efficientnet_b0",
    "efficientvit_b1",
    "gpt2",
    "inception_v3",
    "llama_block",
    "lstm_tagger",
    "mobilenet_v2",
    "nasnet_a",
    "nasrnn",
    "resnet50",
    "resnet50_3d",
    "resnext50_32x4d",
    "segformer_b0",
    "swin_t",
    "tiny_cnn",
    "tiny_transformer",
    "unet",
    "vit_small_patch16_224",
    "whisper_tiny_encoder",
    "yolov3",
};
enum { NETWORK_COUNT = sizeof network_names / sizeof *network_names };

/* path: of the copied model, whose weights are zeros that take no room. */
static inline void network_sparse(const char *name, char path[600])
{
    struct error error = { 0 };
    struct mapping file;
    Onnx__ModelProto *model;
    char source[600], weights[700] = "";
    long long bytes = 0;
    const char *folder = COLLAGE_TEST_DATA "/sparse";
    snprintf(source, sizeof source, "%s/%s.onnx", COLLAGE_NETWORKS, name);
    snprintf(path, 600, "%s/%s.onnx", folder, name);
    assert_int_equal(file_make_directory(folder, &error), COLLAGE_OK);
    assert_int_equal(file_map(source, &file, &error), COLLAGE_OK);
    assert_int_equal(message_unpack_model(file.data, file.bytes, source, &model, &error),
                     COLLAGE_OK);
    for (size_t k = 0; k < model->n_metadata_props; k++) {
        const Onnx__StringStringEntryProto *entry = model->metadata_props[k];
        if (strcmp(entry->key, "collage.weights.file") == 0)
            snprintf(weights, sizeof weights, "%s/%s", folder, entry->value);
        if (strcmp(entry->key, "collage.weights.bytes") == 0)
            bytes = atoll(entry->value);
    }
    assert_int_equal(file_write(path, file.data, file.bytes, &error), COLLAGE_OK);
    int descriptor = open(weights, O_RDWR | O_CREAT, 0600);
    assert_true(descriptor >= 0);
    assert_int_equal(ftruncate(descriptor, (off_t)bytes), 0);
    close(descriptor);
    message_free_model(model);
    file_unmap(&file);
}

/* path: of the copied model, with the weights of the rule. */
static inline void network_filled(const char *name, char path[600])
{
    struct error error = { 0 };
    uint64_t bytes;
    char source[600];
    const char *folder = COLLAGE_TEST_DATA "/filled";
    snprintf(source, sizeof source, "%s/%s.onnx", COLLAGE_NETWORKS, name);
    snprintf(path, 600, "%s/%s.onnx", folder, name);
    assert_int_equal(file_make_directory(folder, &error), COLLAGE_OK);
    if (onnx_weights_fill(source, folder, &bytes, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
}

#endif
