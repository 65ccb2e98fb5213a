/* SPDX-License-Identifier: Apache-2.0 */
/*
 * light_graph.h: what the onnx package's light models need before they can prove much. Their
 * weights are all equal, so every channel is the same, and the Softmax at their end gives 1/1000
 * whatever came before: the weights are replaced by ones that differ, and what goes into the
 * Softmax becomes an output.
 */
#ifndef CONFORM_LIGHT_GRAPH_H
#define CONFORM_LIGHT_GRAPH_H

#include "reference/oracle.h"

/* The weights of a graph as it was imported become pseudo-random constants: those of Conv and Gemm
 * around 0, so that values stay about as large from layer to layer, all others around 1. */
collage_status light_scatter(struct graph *graph, struct error *error);

/* The input of each Softmax that gives a model output becomes an output too, behind the others. An
 * oracle of the graph stays valid. */
collage_status light_show_logits(struct graph *graph, struct error *error);

/*
 * Holds the outputs of a run against the reference: COLLAGE_ERROR_WRONG_RESULT if one is off by
 * more than `tolerance` of its largest value; *worst: the worst error. What a Softmax gives is held
 * against the Softmax of what the same run put into it: where that is large, its rounding decides
 * which element becomes 1.
 */
collage_status light_compare(const struct graph *graph, const struct oracle *oracle,
                             const struct tensor *actual, double tolerance, double *worst,
                             struct error *error);

#endif
