/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operators.h: how ONNX's operators become operations of oneDNN Graph: one function each, by family
 * in the files that are named, found through the table in operators.c.
 */
#ifndef ONEDNN_GRAPH_OPERATORS_H
#define ONEDNN_GRAPH_OPERATORS_H

#include "recipe.h"

/* NULL if the operator is not mapped. */
translator operators_find(const char *op_type);

/* elementwise.c */
void translate_unary(struct recipe *recipe, const collage_node *node);
void translate_binary(struct recipe *recipe, const collage_node *node);
void translate_several(struct recipe *recipe, const collage_node *node);
void translate_clip(struct recipe *recipe, const collage_node *node);
void translate_neg(struct recipe *recipe, const collage_node *node);
void translate_pow(struct recipe *recipe, const collage_node *node);
void translate_prelu(struct recipe *recipe, const collage_node *node);
void translate_reciprocal(struct recipe *recipe, const collage_node *node);
void translate_swish(struct recipe *recipe, const collage_node *node);

/* matrix.c */
void translate_matmul(struct recipe *recipe, const collage_node *node);
void translate_gemm(struct recipe *recipe, const collage_node *node);

/* window.c */
void translate_convolution(struct recipe *recipe, const collage_node *node);
void translate_deconvolution(struct recipe *recipe, const collage_node *node);
void translate_pool(struct recipe *recipe, const collage_node *node);
void translate_global_pool(struct recipe *recipe, const collage_node *node);

/* rows.c */
void translate_softmax(struct recipe *recipe, const collage_node *node);
void translate_layer_norm(struct recipe *recipe, const collage_node *node);
void translate_batch_norm(struct recipe *recipe, const collage_node *node);
void translate_reduction(struct recipe *recipe, const collage_node *node);

/* shape.c */
void translate_concat(struct recipe *recipe, const collage_node *node);
void translate_reshape(struct recipe *recipe, const collage_node *node);
void translate_transpose(struct recipe *recipe, const collage_node *node);

#endif
