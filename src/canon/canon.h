/* SPDX-License-Identifier: Apache-2.0 */
/*
 * canon.h: canonicalisation: small passes, each one file, each exact (no change of any output
 * beyond the rounding that folding a BatchNormalization or fusing a spelt-out operator brings).
 * canon_run repeats them until nothing changes.
 */
#ifndef COLLAGE_CANON_CANON_H
#define COLLAGE_CANON_CANON_H

#include "graph/graph.h"

typedef collage_status (*canon_pass_fn)(struct graph *graph, bool *changed, struct error *error);

struct canon_pass {
    const char *name;
    canon_pass_fn run;
};

collage_status canon_fold_constants(struct graph *graph, bool *changed,
                                    struct error *error); /* up to 64 MB a node */
collage_status canon_remove_identities(
    struct graph *graph, bool *changed,
    struct error *error); /* Identity, Dropout, no-op Reshape, Cast, Transpose, Pad */
collage_status canon_merge_equal_nodes(struct graph *graph, bool *changed,
                                       struct error *error); /* common sub-expressions */
collage_status
canon_fold_batch_norm(struct graph *graph, bool *changed,
                      struct error *error); /* into Conv before it; else to Mul+Add */
/* Two Transposes in a row to one; Reshape, Flatten, Squeeze and Unsqueeze in a row to one Reshape.
 */
collage_status canon_merge_transposes(struct graph *graph, bool *changed, struct error *error);
collage_status canon_merge_views(struct graph *graph, bool *changed, struct error *error);
/* Operators that exporters have spelt out, in float32. Nothing inside may be used elsewhere. */
collage_status canon_fuse_gelu(struct graph *graph, bool *changed, struct error *error);
collage_status canon_fuse_swish(struct graph *graph, bool *changed, struct error *error);
collage_status canon_fuse_hard_swish(struct graph *graph, bool *changed, struct error *error);
collage_status canon_fuse_normalization(struct graph *graph, bool *changed, struct error *error);
collage_status canon_remove_dead(struct graph *graph, bool *changed, struct error *error);

collage_status canon_run(struct graph *graph, struct error *error);

#endif
