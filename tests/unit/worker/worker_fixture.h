/* SPDX-License-Identifier: Apache-2.0 */
/* worker_fixture.h: tiny_cnn with its weights, canonical, with its oracle, and what a worker is
 * started with. */
#ifndef COLLAGE_TESTS_WORKER_FIXTURE_H
#define COLLAGE_TESTS_WORKER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "canon/canon.h"
#include "onnx/onnx.h"
#include "worker/worker.h"

#define WORKER_PROGRAM COLLAGE_BUILD_DIR "/bin/collage-worker"
#define FAULTY_PLUGINS COLLAGE_BUILD_DIR "/test-plugins/faulty"

struct fixture {
    char directory[64], model_path[128];
    struct graph *graph;
    struct oracle *oracle;
    struct registry *registry;
    uint32_t faulty; /* its index */
    struct candidate_set *set;
    struct arena *arena;
    struct worker_setup setup;
};

#define ASSERT_OK(call, error)                                                                     \
    do {                                                                                           \
        if ((call) != COLLAGE_OK)                                                                  \
            fail_msg("%s: %s", #call, (error).text);                                               \
    } while (0)

static inline int fixture_set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct error error = { 0 };
    uint64_t written;
    unsetenv("COLLAGE_FAULTY");
    snprintf(f->directory, sizeof f->directory, "/tmp/collage-worker-XXXXXX");
    assert_non_null(mkdtemp(f->directory));
    ASSERT_OK(onnx_weights_fill(COLLAGE_NETWORKS "/tiny_cnn.onnx", f->directory, &written, &error),
              error);
    snprintf(f->model_path, sizeof f->model_path, "%s/tiny_cnn.onnx", f->directory);
    ASSERT_OK(onnx_import(f->model_path, NULL, 0, &f->graph, &error), error);
    ASSERT_OK(canon_run(f->graph, &error), error);
    ASSERT_OK(oracle_create(f->graph, NULL, NULL, NULL, &f->oracle, &error), error);
    ASSERT_OK(registry_create(FAULTY_PLUGINS, NULL, NULL, &f->registry, &error), error);
    f->faulty = registry_find(f->registry, "faulty");
    assert_int_not_equal(f->faulty, UINT32_MAX);
    const collage_target target = registry_host_target(1);
    ASSERT_OK(candidate_set_create(f->graph, f->registry, &target, &f->set, &error), error);
    f->arena = arena_create();
    f->setup = (struct worker_setup){ .program = WORKER_PROGRAM,
                                      .plugin_directories = FAULTY_PLUGINS,
                                      .model_path = f->model_path,
                                      .threads = 1,
                                      .graph = f->graph,
                                      .oracle = f->oracle };
    *state = f;
    return 0;
}

static inline int fixture_tear_down(void **state)
{
    struct fixture *f = *state;
    unsetenv("COLLAGE_FAULTY");
    candidate_set_destroy(f->set);
    oracle_destroy(f->oracle);
    registry_destroy(f->registry);
    graph_destroy(f->graph);
    arena_destroy(f->arena);
    DIR *directory = opendir(f->directory);
    for (struct dirent *entry; directory && (entry = readdir(directory)) != NULL;) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", f->directory, entry->d_name);
        unlink(path);
    }
    closedir(directory);
    rmdir(f->directory);
    free(f);
    return 0;
}

static inline node_id fixture_find_op(const struct fixture *f, const char *op)
{
    for (size_t k = 0; k < f->graph->node_count; k++)
        if (strcmp(f->graph->nodes[k].op->name, op) == 0)
            return (node_id)k;
    fail_msg("no %s in the graph", op);
    return GRAPH_NONE;
}

static inline candidate_id fixture_candidate(struct fixture *f, uint32_t backend, const char *op)
{
    node_id node = fixture_find_op(f, op);
    struct error error = { 0 };
    size_t added = 0;
    ASSERT_OK(candidate_set_add(f->set, backend, &node, 1, "test", &added, &error), error);
    assert_true(added >= 1);
    return (candidate_id)(f->set->count - added);
}

#endif
