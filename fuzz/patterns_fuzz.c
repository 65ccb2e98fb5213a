/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer entry: any bytes as a file of patterns. What is accepted is matched on two small
 * graphs: each set must be ascending, in the graph, convex, and come once. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "graph/graph_text.h"
#include "graph/region.h"
#include "pattern/pattern_file.h"

/* Chains, diamonds, several results and users, constants, operands that are left out. */
static const char network[] =
    "graph \"network\" {\n"
    "  input %x: float32[1x4x6x6]\n"
    "  const %w: float32[4x4x3x3] = #0123456789abcdef0123456789abcdef\n"
    "  const %k: float32[] = {0.5}\n"
    "  %c0: float32[1x4x6x6] = Conv(%x, %w) {pads=[1, 1, 1, 1]}\n"
    "  %s0: float32[1x4x6x6] = Sigmoid(%c0)\n"
    "  %m0: float32[1x4x6x6] = Mul(%s0, %c0)\n"
    "  %c1: float32[1x4x6x6] = Conv(%m0, %w) {pads=[1, 1, 1, 1], group=1}\n"
    "  %a: float32[1x4x6x6] = Add(%x, %c1)\n"
    "  %r: float32[1x4x6x6] = Relu(%a)\n"
    "  %q: float32[1x4x6x6] = Mul(%r, %k)\n"
    "  %h0: float32[1x2x6x6], %h1: float32[1x2x6x6] = Split(%q) {axis=1, num_outputs=2}\n"
    "  %g: float32[1x2x6x6] = Add(%h0, %h1)\n"
    "  %t: float32[1x2x6x6] = Clip(%g, _, %k)\n"
    "  %cat: float32[1x10x6x6] = Concat(%q, %t, %r) {axis=1}\n"
    "  output %cat\n"
    "}\n";

/* Many nodes that are alike: where a matcher could lose itself. */
static const char ladder[] = "graph \"ladder\" {\n"
                             "  input %x: float32[4]\n"
                             "  %a: float32[4] = Relu(%x)\n"
                             "  %b: float32[4] = Relu(%x)\n"
                             "  %c: float32[4] = Relu(%x)\n"
                             "  %d: float32[4] = Relu(%x)\n"
                             "  %e: float32[4] = Sum(%a, %b, %c, %d, %x)\n"
                             "  %f: float32[4] = Add(%e, %e)\n"
                             "  %g: float32[4] = Add(%f, %e)\n"
                             "  %h: float32[4] = Sum(%a, %b, %c, %d, %g)\n"
                             "  output %h\n"
                             "  output %a\n"
                             "}\n";

/* What all runs share; made once. */
static struct fixed {
    struct graph *graph;
    struct graph_uses uses;
} fixed[2];

static void make_fixed(void)
{
    static const char *const texts[] = { network, ladder };
    for (size_t k = 0; k < 2; k++)
        if (!fixed[k].graph &&
            (graph_parse(texts[k], &fixed[k].graph, NULL) != COLLAGE_OK ||
             graph_uses_build(fixed[k].graph, &fixed[k].uses, NULL) != COLLAGE_OK))
            abort();
}

static struct {
    const struct fixed *of;
    bool seen[1u << 12];
} sets;

static bool check_set(void *user, const node_id *nodes, uint32_t count)
{
    (void)user;
    node_id copy[12];
    uint32_t mask = 0;
    if (count == 0 || count > sets.of->graph->node_count)
        abort();
    for (uint32_t k = 0; k < count; k++) {
        if (nodes[k] >= sets.of->graph->node_count || (k > 0 && nodes[k] <= nodes[k - 1]))
            abort();
        mask |= 1u << nodes[k];
        copy[k] = nodes[k];
    }
    const struct region region = { .nodes = copy, .node_count = count };
    if (sets.seen[mask] || !region_is_convex(sets.of->graph, &sets.of->uses, &region))
        abort();
    sets.seen[mask] = true;
    return true;
}

int fuzz_patterns(const uint8_t *data, size_t size)
{
    struct pattern_file *file;
    struct error error = { 0 };
    make_fixed();
    if (pattern_file_parse("fuzz", (const char *)data, size, &file, &error) != COLLAGE_OK) {
        if (error.status != COLLAGE_ERROR_FORMAT || !error.text[0])
            abort();
        return 0;
    }
    for (uint32_t e = 0; e < file->count; e++)
        for (size_t k = 0; k < 2; k++) {
            bool cut_off;
            sets.of = &fixed[k];
            memset(sets.seen, 0, sizeof sets.seen);
            if (pattern_entry_match(&file->entries[e], fixed[k].graph, &fixed[k].uses, check_set,
                                    NULL, &cut_off, NULL) != COLLAGE_OK)
                abort();
        }
    pattern_file_destroy(file);
    return 0;
}
