/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_place [NODES...]: how long exact placement takes, and how far from the best it may be, by
 * the size and shape of the graph, as a table in Markdown (`make bench-place`). No test: it takes
 * minutes.
 */
#include "unit/place/networks.h"

#include "base/clock.h"

static value_id make_chain(struct fixture *f, value_id v, uint32_t nodes)
{
    return make_bottlenecks(f, v, nodes / 7);
}

static value_id make_wide(struct fixture *f, value_id v, uint32_t nodes)
{
    return make_cells(f, v, nodes < 100 ? 1 : nodes / 50);
}

struct shape {
    const char *name;
    value_id (*make)(struct fixture *, value_id, uint32_t nodes);
};

struct variant {
    const char *name;
    uint32_t regions;
    double switch_ns;
};

static double seconds_for(size_t nodes)
{
    return nodes > 2000 ? 60 : 5;
}

/* "0.03 s", "5.0 s, 0.24 %". */
static void place(const struct shape *shape, const struct variant *variant, uint32_t nodes)
{
    struct fixture f;
    seal_network(&f, shape->make(&f, open_graph(&f, 42), nodes), variant->regions,
                 variant->switch_ns);
    const struct place_limits limits = { .seconds = seconds_for(f.graph->node_count),
                                         .solver = COLLAGE_BUILD_DIR "/bin/collage-solver" };
    struct placement placement;
    uint64_t start = clock_ns();
    assert_int_equal(place_exact(&f.problem, &limits, &placement, NULL), COLLAGE_OK);
    double seconds = (double)(clock_ns() - start) * 1e-9;
    printf(" %.*f s", seconds < 1 ? 2 : 1, seconds);
    if (!placement.optimal)
        printf(", %.3f %%", 100 * (1 - placement.bound_ns / placement.cost_ns));
    printf(" |");
    fflush(stdout);
    placement_free(&placement);
    fixture_close(&f);
}

int main(int argc, char **argv)
{
    static const struct shape shapes[] = { { "chain of residual blocks", make_chain },
                                           { "random residuals", make_random },
                                           { "cells", make_wide } };
    static const struct variant variants[] = { { "", 0, 0 },
                                               { ", regions", 5, 0 },
                                               { ", regions and switches", 5, 200 } };
    uint32_t sizes[16] = { 100, 300, 1000, 3000, 10000 }, size_count = 5;
    if (argc > 1)
        size_count = 0;
    for (int k = 1; k < argc && size_count < 16; k++) {
        long nodes = strtol(argv[k], NULL, 10);
        if (nodes < 10 || nodes > 100000) {
            fprintf(stderr, "bench_place: '%s' is no number of nodes from 10 to 100000\n", argv[k]);
            return 2;
        }
        sizes[size_count++] = (uint32_t)nodes;
    }
    printf(
        "Seconds, and the proven gap where it is not 0; limits: 5 s, 60 s above 2,000 nodes.\n\n");
    printf("| graph |");
    for (uint32_t k = 0; k < size_count; k++)
        printf(" %u nodes |", sizes[k]);
    printf("\n|---|");
    for (uint32_t k = 0; k < size_count; k++)
        printf("--:|");
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (size_t v = 0; v < sizeof variants / sizeof variants[0]; v++) {
            printf("\n| %s%s |", shapes[s].name, variants[v].name);
            for (uint32_t k = 0; k < size_count; k++)
                place(&shapes[s], &variants[v], sizes[k]);
        }
    printf("\n");
    return 0;
}
