/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library_suite.h: what is tested of every graph-level plugin, with the real library, through the
 * registry; skipped if the plugin was not built. Who includes it defines
 *     LIBRARY           the plugin's name
 *     LIBRARY_VARIABLE  of the environment, that names the library's file
 *     LIBRARY_MISMATCH  part of the message if a file has other inputs than the sub-graph
 * and then gives `suite`.
 */
#ifndef COLLAGE_TESTS_BACKEND_LIBRARY_SUITE_H
#define COLLAGE_TESTS_BACKEND_LIBRARY_SUITE_H

#include "plugin/network_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "canon/canon.h"
#include "onnx/onnx.h"
#include "unit/onnx/networks.h"

#define PLUGINS COLLAGE_BUILD_DIR "/lib/plugins"
#define PLUGIN  PLUGINS "/collage_" LIBRARY ".so"
#define FOLDER  COLLAGE_TEST_DATA "/test_" LIBRARY

/* What a node of this form, y = OP(x, x, ...) with one attribute, is refused for; NULL: it is
 * taken.
 */
struct refusal_case {
    const char *op;
    uint32_t input_count;
    collage_attribute attribute;
    const char *reason;
    collage_dtype dtype; /* 0: float32 */
};

/* Graphs to compile, and nodes to ask for. */
struct library_suite {
    const char *const *texts;
    size_t text_count;
    const struct refusal_case *refusals;
    size_t refusal_count;
};

static const struct library_suite suite; /* is defined by who includes this */

static struct registry *make_registry(void)
{
    struct registry *registry = NULL;
    struct error error = { 0 };
    if (!file_exists(PLUGIN))
        skip();
    ASSERT_OK(registry_create(PLUGINS, NULL, NULL, &registry, &error), error);
    return registry;
}

static uint32_t find(const struct registry *registry)
{
    uint32_t index = registry_find(registry, LIBRARY);
    assert_true(index != UINT32_MAX);
    return index;
}

static struct registry *open_registry(const collage_target *target, uint32_t *index)
{
    struct registry *registry = make_registry();
    struct error error = { 0 };
    *index = find(registry);
    ASSERT_OK(registry_open(registry, *index, target, &error), error);
    return registry;
}

/* Compiles with the library and checks against the reference, twice (a new address and the same
 * one). */
static void check_network(const struct network *network, const struct registry *registry,
                          uint32_t index, const collage_target *target, uint32_t flags,
                          const char *path)
{
    const collage_backend_api *api = registry->entries[index].api;
    collage_message message = { "" };
    collage_kernel *kernel = NULL;
    if (!api->supports(network->subgraph, target, &message))
        fail_msg("%s", message.text);
    if (network_compile(network, registry, index, target, flags, path, &kernel, &message) !=
        COLLAGE_OK)
        fail_msg("%s", message.text);
    network_check(network, api, kernel);
    network_check(network, api, kernel);
    collage_kernel_info info = { .struct_size = sizeof info };
    api->kernel_info(kernel, &info);
    assert_non_null(strstr(info.implementation, registry->entries[index].version));
    api->kernel_destroy(kernel);
}

static void test_small_graphs(void **state)
{
    (void)state;
    collage_target target = registry_host_target(0);
    uint32_t index;
    struct registry *registry = open_registry(&target, &index);
    assert_true(registry->entries[index].version[0]);
    for (size_t k = 0; k < suite.text_count; k++) {
        struct network network;
        network_parse(&network, suite.texts[k]);
        check_network(&network, registry, index, &target, 0, NULL);
        network_destroy(&network);
    }
    registry_destroy(registry);
}

/* Kernels of different thread counts, run in turns, and a second handle in the same process. */
static void test_two_kernels_in_turns(void **state)
{
    (void)state;
    collage_target one = registry_host_target(1), two = registry_host_target(2);
    uint32_t index;
    struct registry *registry = open_registry(&two, &index);
    struct registry *other = open_registry(&one, &index);
    const collage_backend_api *api = registry->entries[index].api;
    struct network first, second;
    collage_kernel *a = NULL, *b = NULL;
    collage_message message = { "" };
    network_parse(&first, suite.texts[0]);
    network_parse(&second, suite.texts[1]);
    assert_int_equal(network_compile(&first, registry, index, &two, 0, NULL, &a, &message),
                     COLLAGE_OK);
    assert_int_equal(network_compile(&second, other, index, &one, 0, NULL, &b, &message),
                     COLLAGE_OK);
    for (int k = 0; k < 3; k++) {
        network_check(&first, api, a);
        network_check(&second, api, b);
    }
    api->kernel_destroy(b);
    registry_destroy(other);
    network_check(&first, api, a);
    api->kernel_destroy(a);
    registry_destroy(registry);
    network_destroy(&first);
    network_destroy(&second);
}

/* CPU time that this process spends while nobody asks it for anything. */
static double idle_cpu_ms(void)
{
    struct timespec before, after, pause = { .tv_nsec = 100000000 };
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    nanosleep(&pause, NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    return (double)(after.tv_sec - before.tv_sec) * 1e3 +
           (double)(after.tv_nsec - before.tv_nsec) / 1e6;
}

static void test_no_spinning_after_a_run(void **state)
{
    (void)state;
    collage_target target = registry_host_target(2);
    uint32_t index;
    struct registry *registry = open_registry(&target, &index);
    struct network network;
    collage_kernel *kernel = NULL;
    collage_message message = { "" };
    network_parse(&network, suite.texts[0]);
    assert_int_equal(
        network_compile(&network, registry, index, &target, 0, NULL, &kernel, &message),
        COLLAGE_OK);
    double least = 1e9;
    for (int k = 0; k < 5; k++) {
        network_check(&network, registry->entries[index].api, kernel);
        double idle = idle_cpu_ms();
        least = idle < least ? idle : least;
    }
    if (least > 2.0)
        fail_msg("%.1f ms of CPU time in 100 ms after a run", least);
    registry->entries[index].api->kernel_destroy(kernel);
    registry_destroy(registry);
    network_destroy(&network);
}

/* Copies the network to a folder of this test and fills its weights there. */
static void fill_network(const char *name, char *path, size_t size)
{
    char from[512];
    uint64_t bytes = 0;
    struct error error = { 0 };
    snprintf(from, sizeof from, "%s/%s.onnx", COLLAGE_NETWORKS, name);
    ASSERT_OK(file_make_directory(FOLDER, &error), error);
    ASSERT_OK(onnx_weights_fill(from, FOLDER, &bytes, &error), error);
    snprintf(path, size, "%s/%s.onnx", FOLDER, name);
}

static void check_whole_network(const char *name)
{
    char path[512];
    struct graph *graph = NULL;
    struct network network;
    struct error error = { 0 };
    collage_target target = registry_host_target(2);
    uint32_t index;
    struct registry *registry = open_registry(&target, &index);
    fill_network(name, path, sizeof path);
    ASSERT_OK(onnx_import(path, NULL, 0, &graph, &error), error);
    network_make(&network, graph);
    check_network(&network, registry, index, &target, 0, NULL);
    check_network(&network, registry, index, &target, COLLAGE_COMPILE_STANDALONE, path);
    network_destroy(&network);
    registry_destroy(registry);
}

/* Otherwise the library would be missing among those alone, and nobody would notice. */
static void test_takes_all_networks_whole(void **state)
{
    (void)state;
    struct registry *registry = make_registry();
    const collage_backend_api *api = registry->entries[find(registry)].api;
    const collage_target target = registry_host_target(1);
    for (size_t k = 0; k < NETWORK_COUNT; k++) {
        char path[600];
        struct graph *graph;
        struct error error = { 0 };
        struct arena *arena = arena_create();
        const collage_subgraph *subgraph;
        collage_message why = { "" };
        network_sparse(network_names[k], path);
        ASSERT_OK(onnx_import(path, NULL, 0, &graph, &error), error);
        ASSERT_OK(canon_run(graph, &error), error);
        network_subgraph(arena, graph, &subgraph);
        if (!api->supports(subgraph, &target, &why))
            fail_msg("%s: %s", network_names[k], why.text);
        graph_destroy(graph);
        arena_destroy(arena);
    }
    registry_destroy(registry);
}

static void test_tiny_cnn(void **state)
{
    (void)state;
    check_whole_network("tiny_cnn");
}

static void test_tiny_transformer(void **state)
{
    (void)state;
    check_whole_network("tiny_transformer");
}

/* Standalone, the file's inputs and outputs must be the sub-graph's. */
static void test_standalone_mismatch(void **state)
{
    (void)state;
    char path[512];
    struct network network;
    collage_kernel *kernel = NULL;
    collage_message message = { "" };
    collage_target target = registry_host_target(1);
    uint32_t index;
    struct registry *registry = open_registry(&target, &index);
    fill_network("tiny_cnn", path, sizeof path);
    network_parse(&network, suite.texts[0]);
    assert_int_equal(network_compile(&network, registry, index, &target, COLLAGE_COMPILE_STANDALONE,
                                     path, &kernel, &message),
                     COLLAGE_ERROR_MISMATCH);
    assert_non_null(strstr(message.text, LIBRARY_MISMATCH));
    assert_null(kernel);
    assert_int_equal(network_compile(&network, registry, index, &target, COLLAGE_COMPILE_STANDALONE,
                                     "/no/such.onnx", &kernel, &message),
                     COLLAGE_ERROR_BACKEND);
    assert_non_null(strstr(message.text, "/no/such.onnx"));
    network_destroy(&network);
    registry_destroy(registry);
}

static void test_missing_library(void **state)
{
    (void)state;
    struct registry *registry = make_registry();
    uint32_t index = find(registry);
    collage_target target = registry_host_target(1);
    const char *const wrong[] = { "/no/such/library.so", PLUGIN };
    for (size_t k = 0; k < 2; k++) {
        struct error error = { 0 };
        setenv(LIBRARY_VARIABLE, wrong[k], 1);
        registry_set_version(registry, index, "", "");
        assert_int_equal(registry_open(registry, index, &target, &error), COLLAGE_ERROR_BACKEND);
        assert_non_null(strstr(registry->entries[index].problem, wrong[k]));
        assert_null(strchr(registry->entries[index].problem, '\n'));
    }
    unsetenv(LIBRARY_VARIABLE);
    registry_destroy(registry);
}

static void test_refuses_with_a_reason(void **state)
{
    (void)state;
    struct registry *registry = make_registry();
    const collage_backend_api *api = registry->entries[find(registry)].api;
    collage_target target = registry_host_target(1);
    int64_t dims[] = { 4 }, none[] = { 0 };
    collage_value half = {
        .name = "x", .dtype = COLLAGE_FLOAT16, .rank = 1, .dims = dims, .bytes = 8
    };
    collage_value empty = { .name = "y", .dtype = COLLAGE_FLOAT32, .rank = 1, .dims = none };
    const collage_value *values[] = { &half, &empty };
    uint32_t zero = 0, one = 1;
    collage_node node = { .op_type = "Relu",
                          .name = "",
                          .inputs = &zero,
                          .input_count = 1,
                          .outputs = &zero,
                          .output_count = 1 };
    const collage_node *nodes[] = { &node };
    collage_subgraph subgraph = { .struct_size = sizeof subgraph,
                                  .values = values,
                                  .value_count = 2,
                                  .nodes = nodes,
                                  .node_count = 1,
                                  .inputs = &zero,
                                  .input_count = 1,
                                  .outputs = &zero,
                                  .output_count = 1,
                                  .opset = 25 };
    collage_message why = { "" };
    assert_false(api->supports(&subgraph, &target, &why));
    assert_non_null(strstr(why.text, "Relu: element type 10 is not given to "));
    node.inputs = node.outputs = subgraph.inputs = subgraph.outputs = &one;
    assert_false(api->supports(&subgraph, &target, &why));
    assert_non_null(strstr(why.text, "without elements"));
    node.inputs = node.outputs = subgraph.inputs = subgraph.outputs = &zero;
    half.dtype = COLLAGE_FLOAT32;
    assert_true(api->supports(&subgraph, &target, &why));
    node.op_type = "NoSuchOperator";
    assert_false(api->supports(&subgraph, &target, &why));
    assert_non_null(strstr(why.text, "NoSuchOperator"));
    registry_destroy(registry);
}

static void test_refuses_attributes(void **state)
{
    (void)state;
    struct registry *registry = make_registry();
    const collage_backend_api *api = registry->entries[find(registry)].api;
    collage_target target = registry_host_target(1);
    int64_t dims[] = { 2, 2 };
    collage_value x = { .name = "x", .rank = 2, .dims = dims, .bytes = 16 };
    const collage_value *values[] = { &x };
    const uint32_t inputs[8] = { 0 };
    for (size_t k = 0; k < suite.refusal_count; k++) {
        const struct refusal_case *c = &suite.refusals[k];
        x.dtype = c->dtype ? c->dtype : COLLAGE_FLOAT32;
        collage_node node = { c->op, "", inputs, c->input_count, inputs, 1, &c->attribute, 1 };
        const collage_node *nodes[] = { &node };
        collage_subgraph subgraph = {
            sizeof subgraph, values, 1, nodes, 1, inputs, 1, inputs, 1, 25
        };
        collage_message why = { "" };
        bool taken = api->supports(&subgraph, &target, &why);
        if (taken != !c->reason || (c->reason && !strstr(why.text, c->reason)))
            fail_msg("%s of case %zu: '%s'", c->op, k, why.text);
    }
    registry_destroy(registry);
}

static int run_library_suite(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refuses_with_a_reason),
        cmocka_unit_test(test_refuses_attributes),
        cmocka_unit_test(test_missing_library),
        cmocka_unit_test(test_small_graphs),
        cmocka_unit_test(test_two_kernels_in_turns),
        cmocka_unit_test(test_no_spinning_after_a_run),
        cmocka_unit_test(test_takes_all_networks_whole),
        cmocka_unit_test(test_tiny_cnn),
        cmocka_unit_test(test_tiny_transformer),
        cmocka_unit_test(test_standalone_mismatch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
