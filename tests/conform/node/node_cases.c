/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_cases.c: runs the onnx package's node test cases (written by generate.py) through the
 * importer and the reference operators.
 *
 * A case is skipped, with its reason, if Collage does not want to run it (node_case.c), if it uses
 * an operator or a type that we do not have, or if it is in the table of known gaps below.
 * Everything else must pass, and a gap that has been closed must leave the table.
 *
 *     conform_node DIR LEAST [NAME]
 *
 * LEAST: so many at least must pass, lest a fault in the generator or the list passes for success.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node_case.h"

/* Of those that Collage wants to run. */
static const double least_share = 0.98;

/* Beginnings of names. */
static const struct {
    const char *name, *reason;
} gaps[] = {
    /* These take the size before it is rounded down, unlike the specification and the libraries. */
    { "test_resize_downsample_scales_cubic_align_corners", "a size that is no integer" },
    { "test_resize_downsample_scales_linear_align_corners", "a size that is no integer" },
};
enum { GAP_COUNT = sizeof gaps / sizeof gaps[0] };

/* Beginnings of names of cases about what is excluded; their operators do not tell. */
static const char *const training[] = { "test_batchnorm_epsilon_training_mode",
                                        "test_batchnorm_example_training_mode",
                                        "test_training_dropout" };

struct tally {
    int passed, failed, excluded, gaps;
    bool gap_met[GAP_COUNT], gap_used[GAP_COUNT];
};

static bool begins_with(const char *name, const char *beginning)
{
    return strncmp(name, beginning, strlen(beginning)) == 0;
}

static size_t find_gap(const char *name)
{
    size_t k = 0;
    while (k < GAP_COUNT && !begins_with(name, gaps[k].name))
        k++;
    return k;
}

static bool is_excluded(const struct node_case *c, struct tally *tally)
{
    char reason[160];
    node_case_excluded(c, reason, sizeof reason);
    for (size_t k = 0; k < sizeof training / sizeof *training; k++)
        if (begins_with(c->name, training[k]))
            snprintf(reason, sizeof reason, "training");
    if (!reason[0])
        return false;
    printf("skipped %s: %s\n", c->name, reason);
    if (begins_with(reason, "not supported"))
        tally->gaps++;
    else
        tally->excluded++;
    return true;
}

static collage_status run(const struct node_case *c, struct error *error)
{
    struct graph *graph;
    struct oracle *oracle;
    collage_status status = node_case_run(c, &graph, &oracle, error);
    if (status == COLLAGE_OK)
        status = node_case_check(c, graph, oracle, error);
    oracle_destroy(oracle);
    graph_destroy(graph);
    return status;
}

static void judge(const struct node_case *c, void *user)
{
    struct tally *tally = user;
    if (is_excluded(c, tally))
        return;
    struct error error = { 0 };
    bool passed = run(c, &error) == COLLAGE_OK;
    size_t gap = find_gap(c->name);
    if (gap < GAP_COUNT)
        tally->gap_met[gap] = true;
    if (gap < GAP_COUNT && !passed) {
        printf("skipped %s: %s (%s)\n", c->name, gaps[gap].reason, error.text);
        tally->gap_used[gap] = true;
        tally->gaps++;
    } else if (passed) {
        tally->passed++;
    } else {
        printf("FAILED  %s: %s\n", c->name, error.text);
        tally->failed++;
    }
}

static bool print_tally(const struct tally *tally, unsigned long least)
{
    int wanted = tally->passed + tally->failed + tally->gaps;
    double share = wanted ? (double)tally->passed / wanted : 0;
    bool enough = (unsigned long)tally->passed >= least, most = share >= least_share;
    printf("%d passed, %d failed, %d skipped as gaps; %d skipped as not wanted\n"
           "%.1f %% of those that are wanted pass\n",
           tally->passed, tally->failed, tally->gaps, tally->excluded, 100 * share);
    if (!enough)
        printf("FAILED  at least %lu should pass\n", least);
    if (!most)
        printf("FAILED  at least %.0f %% of those that are wanted should pass\n",
               100 * least_share);
    return enough && most && tally->failed == 0;
}

int main(int argc, char **argv)
{
    struct tally tally = { 0 };
    const char *only = argc > 3 ? argv[3] : NULL;
    if (argc < 3 || !node_case_each(argv[1], only, judge, &tally)) {
        fprintf(stderr, "usage: conform_node DIR LEAST [NAME], DIR as generate.py writes it\n");
        return 2;
    }
    for (size_t k = 0; k < GAP_COUNT; k++)
        if (tally.gap_met[k] && !tally.gap_used[k]) {
            printf("FAILED  no case fails for the known gap '%s' any more\n", gaps[k].name);
            tally.failed++;
        }
    return print_tally(&tally, only ? 0 : strtoul(argv[2], NULL, 10)) ? 0 : 1;
}
