/* SPDX-License-Identifier: Apache-2.0 */
#include "canon/canon.h"

#include "graph/verify.h"

static const struct canon_pass passes[] = {
    { "remove_dead", canon_remove_dead },
    { "fold_constants", canon_fold_constants },
    { "remove_identities", canon_remove_identities },
    { "fold_batch_norm", canon_fold_batch_norm },
    { "merge_equal_nodes", canon_merge_equal_nodes },
    { "merge_views", canon_merge_views },
    { "merge_transposes", canon_merge_transposes },
    { "fuse_gelu", canon_fuse_gelu },
    { "fuse_swish", canon_fuse_swish },
    { "fuse_hard_swish", canon_fuse_hard_swish },
    { "fuse_normalization", canon_fuse_normalization },
};

static collage_status check(const struct graph *graph, const char *pass, struct error *error)
{
#ifdef COLLAGE_VERIFY_STAGES
    collage_status status = graph_verify(graph, error);
    if (status != COLLAGE_OK)
        error_prefix(error, "after %s", pass);
    return status;
#else
    (void)graph;
    (void)pass;
    (void)error;
    return COLLAGE_OK;
#endif
}

static collage_status run_all(struct graph *graph, bool *changed, struct error *error)
{
    *changed = false;
    for (size_t k = 0; k < sizeof passes / sizeof *passes; k++) {
        bool pass_changed = false;
        collage_status status = passes[k].run(graph, &pass_changed, error);
        if (status == COLLAGE_OK && pass_changed)
            status = check(graph, passes[k].name, error);
        if (status != COLLAGE_OK)
            return status;
        *changed = *changed || pass_changed;
    }
    return COLLAGE_OK;
}

collage_status canon_run(struct graph *graph, struct error *error)
{
    /* Every change removes a node, shortens a chain, or replaces a BatchNormalization or the last
     * node of a spelt-out operator by what no pass replaces again, so this ends by itself. */
    bool changed = true;
    collage_status status = COLLAGE_OK;
    while (status == COLLAGE_OK && changed)
        status = run_all(graph, &changed, error);
    return status;
}
