/* SPDX-License-Identifier: Apache-2.0 */
/* rules.h: which attributes and inputs of single operators ONNX Runtime cannot, or computes
 * otherwise than ONNX says. Rows of operators.c name these. */
#ifndef COLLAGE_ONNXRUNTIME_RULES_H
#define COLLAGE_ONNXRUNTIME_RULES_H

#include "../operator_table.h"

#define RULE(name)                                                                                 \
    bool name(const collage_subgraph *subgraph, const collage_node *node, collage_message *why)

/* rules.c */
RULE(takes_attention);
RULE(takes_bit_shift);
RULE(takes_cast);
RULE(takes_dft);
RULE(takes_einsum);
RULE(takes_eye_like);
RULE(takes_grid_sample);
RULE(takes_lp_pool);
RULE(takes_lrn);
RULE(takes_max_unpool);
RULE(takes_mod);
RULE(takes_one_hot);
RULE(takes_recurrent);
RULE(takes_resize);
RULE(takes_roi_align);
RULE(takes_scatter);
RULE(takes_scatter_nd);
RULE(takes_space_to_depth);
RULE(takes_stft);
RULE(takes_tensor_scatter);
RULE(takes_top_k);
RULE(takes_window);

/* rules_quantized.c */
RULE(takes_conv_integer);
RULE(takes_dequantize);
RULE(takes_dynamic_quantize);
RULE(takes_matmul_integer);
RULE(takes_qlinear_conv);
RULE(takes_qlinear_matmul);
RULE(takes_quantize);

/* What is asked in addition on a machine without VNNI; true for operators that it does not matter
 * for. */
RULE(takes_without_vnni);

#undef RULE

#endif
