/* SPDX-License-Identifier: Apache-2.0 */
/*
 * candidate.h: what could run where. A candidate is (backend, region, variant); it is convex.
 * Candidates with equal keys (the same operators, shapes, backend, variant) share one cost. A
 * candidate set only grows: regions are added as the search asks for them, and ids stay valid.
 */
#ifndef COLLAGE_PATTERN_CANDIDATE_H
#define COLLAGE_PATTERN_CANDIDATE_H

#include "backend/registry.h"
#include "graph/region.h"

struct pattern_file;

typedef uint32_t candidate_id;

enum cost_state { COST_UNKNOWN, COST_MEASURED, COST_FAILED };

/* The cost of one key: measured, or given by the user, which makes it COST_MEASURED or, if it must
 * not be used, COST_FAILED, with a giver and no samples. */
struct cost {
    enum cost_state state;
    double cost_ns;  /* what placing uses: the lower decile, or what a rehearsal found */
    double alone_ns; /* after a rehearsal: what it took when it was measured; else 0 */
    double minimum_ns, low_ns, high_ns; /* low, high: the 95 % confidence interval of the median */
    uint32_t sample_count;
    uint32_t passes; /* measurements, at different times, since this cost was the lowest */
    double error;    /* against the reference, relative to the largest value */
    uint64_t weight_bytes, scratch_bytes;
    uint32_t inplace_count; /* as collage_kernel_info */
    uint32_t inplace[8];
    const char *implementation; /* what the library chose; "" */
    const char *reason;         /* COST_FAILED: why; "" */
    const char *giver;          /* the function or file that gave it; NULL: it was measured */
    const char *schedule; /* that the kernel was compiled with (schedule.h); NULL: the backend's own
                             choice */
    bool passing;         /* COST_FAILED for want of a compiler: not to be kept */
};

struct candidate {
    uint32_t backend; /* registry index */
    struct region region;
    const char *variant; /* name; "" if the backend gives none */
    uint32_t variant_index;
    const collage_layout *input_layouts, *output_layouts; /* as the region's inputs and outputs */
    const char *pattern; /* which pattern or rule made it: for explanations */
    bool code;           /* its kernel is made by a compiler (COLLAGE_VARIANT_CODE) */
    bool view; /* OP_VIEW node in row-major layout: no kernel, output shares the input's memory;
                  cost 0 */
    bool part; /* a view, too, in any layout: Concat whose inputs are made in its result, or Split
                  or Slice that show their input (graph/parts.h) */
    struct hash key; /* subgraph_hash + backend name + variant + layouts; not the machine */
    struct cost cost;
};

struct candidate_set {
    struct arena *arena;
    const struct graph *graph;
    struct graph_uses uses;
    struct registry *registry;
    collage_target target;
    struct candidate *items;
    size_t count, capacity;
    /* Why a backend did not take a node: refusal[node * registry->count + backend], NULL if it did.
     */
    const char **refusals;
    bool *asked;       /* as refusals: whether the backend was asked about the node alone */
    struct hash *seen; /* hash table of the (backend, nodes) that were tried */
    size_t seen_count, seen_capacity;
    /* Patterns and rules beside those that the backends list (pattern_file.h): set before
     * candidate_set_enumerate, borrowed. */
    struct pattern_file *const *files;
    size_t file_count;
    /* Offer cheap nodes to each of several users that could compute them for itself (copies.c): set
     * before candidate_set_enumerate. */
    bool recompute;
    /* Leave out variants that are not within the bound of direct summation; keys of what holds sums
     * are then others: their kernels are checked more strictly. Set before the first candidate. */
    bool strict;
    /* The machine, for entries that are for some machines only; as the files; NULL: not known. */
    const char *device, *fingerprint;
};

collage_status candidate_set_create(const struct graph *graph, struct registry *registry,
                                    const collage_target *target, struct candidate_set **out,
                                    struct error *error);
void candidate_set_destroy(struct candidate_set *set);

/* Adds every variant of the region on that backend, if it is convex, supported and not there yet.
 * Regions made of views only are left out: their view candidates cost nothing. nodes: ascending.
 * Sets *added (may be NULL) to how many were added. */
collage_status candidate_set_add(struct candidate_set *set, uint32_t backend, const node_id *nodes,
                                 uint32_t count, const char *pattern, size_t *added,
                                 struct error *error);

/* As candidate_set_add; `copies` (ascending) of the nodes are computed for use inside only. */
collage_status candidate_set_add_copying(struct candidate_set *set, uint32_t backend,
                                         const node_id *nodes, uint32_t count,
                                         const node_id *copies, uint32_t copy_count,
                                         const char *pattern, size_t *added, struct error *error);

/* Op-level: all matches of all patterns of the enabled backends. Graph-level: each supported single
 * node, the segments between cut values (and runs of 2, 4, 8... of them, prefixes and suffixes),
 * maximal supported regions, the whole graph. Both: what the backend's own text and the files of
 * patterns say of it. Views: each OP_VIEW node; Concat, Split and Slice where memory can be shared,
 * in the layouts that candidates have around them. enabled: one flag for each backend. */
collage_status candidate_set_enumerate(struct candidate_set *set, const bool *enabled,
                                       struct error *error);

/* The ABI view of a candidate's region, in `arena`. */
collage_status candidate_subgraph(const struct candidate_set *set, candidate_id id,
                                  struct arena *arena, const collage_subgraph **out,
                                  struct error *error);

#endif
