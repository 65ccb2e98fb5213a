/* SPDX-License-Identifier: Apache-2.0 */
/* The example whose candidates come from a rule, built outside the tree: which groups the host
 * makes of it, what its verify function says of others, and that what it computes is right. */
#include "plugin/network_fixture.h"

#include "pattern/backend_text.h"
#include "pattern/candidate.h"

struct example_case {
    const char *text;
    bool supported;
};

#define GRAPH(body)                                                                                \
    "graph \"case\" {\n  input %x: float32[3x700]\n  input %y: float32[3x700]\n" body "}\n"

static const struct example_case cases[] = {
    { GRAPH("  %z: float32[3x700] = Tanh(%x)\n  output %z\n"), true },
    { GRAPH("  %s: float32[3x700] = Sigmoid(%x)\n  %z: float32[3x700] = Mul(%s, %x)\n"
            "  output %z\n"),
      true },
    { GRAPH("  %a: float32[3x700] = Sub(%x, %y)\n  %b: float32[3x700] = Abs(%a)\n"
            "  %c: float32[3x700] = Neg(%a)\n  %d: float32[3x700] = Add(%b, %c)\n"
            "  %z: float32[3x700] = Relu(%d)\n  output %z\n"),
      true },
    { GRAPH("  %a: float32[3x700] = Abs(%x)\n  %z: float32[3x700] = Relu(%a)\n  output %z\n"
            "  output %a\n"),
      false },
    { GRAPH("  const %c: float32[1] = {2.0}\n  %z: float32[3x700] = Mul(%x, %c)\n  output %z\n"),
      false },
    { GRAPH("  %z: float32[3x700] = Exp(%x)\n  output %z\n"), false },
};

static uint32_t open_example(struct registry **registry)
{
    struct error error = { 0 };
    ASSERT_OK(registry_create(COLLAGE_EXAMPLE_RULE, NULL, NULL, registry, &error), error);
    ASSERT_OK(backend_text_check(*registry, 0, &error), error);
    uint32_t index = registry_find(*registry, "elementwise");
    assert_int_equal(index, 1);
    assert_string_equal((*registry)->entries[index].problem, "");
    return index;
}

static void check_case(const struct example_case *example, const struct registry *registry,
                       uint32_t index)
{
    struct network network;
    network_parse(&network, example->text);
    const collage_backend_api *api = registry->entries[index].api;
    collage_target target = registry_host_target(1);
    collage_message why = { "" };
    bool supported = api->supports(network.subgraph, &target, &why);
    assert_int_equal(supported, example->supported);
    assert_int_equal(why.text[0] == '\0', supported);
    if (supported) {
        collage_kernel *kernel = NULL;
        assert_int_equal(
            network_compile(&network, registry, index, &target, 0, NULL, &kernel, &why),
            COLLAGE_OK);
        network_check(&network, api, kernel);
        api->kernel_destroy(kernel);
    }
    network_destroy(&network);
}

static void test_verifies_and_computes(void **state)
{
    (void)state;
    struct registry *registry = NULL;
    struct error error = { 0 };
    uint32_t index = open_example(&registry);
    collage_target target = registry_host_target(1);
    ASSERT_OK(registry_open(registry, index, &target, &error), error);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        check_case(&cases[k], registry, index);
    registry_destroy(registry);
}

/* The diamond of five nodes: all its connected convex groups with one output, 14 of them. */
static void test_candidates(void **state)
{
    (void)state;
    struct registry *registry = NULL;
    struct candidate_set *set;
    struct network network;
    struct error error = { 0 };
    uint32_t index = open_example(&registry);
    collage_target target = registry_host_target(1);
    network_parse(&network, cases[2].text);
    ASSERT_OK(candidate_set_create(network.graph, registry, &target, &set, &error), error);
    bool enabled[2] = { false, true };
    ASSERT_OK(candidate_set_enumerate(set, enabled, &error), error);
    bool whole = false;
    for (size_t c = 0; c < set->count; c++) {
        assert_int_equal(set->items[c].backend, index);
        assert_int_equal(set->items[c].region.output_count, 1);
        assert_string_equal(set->items[c].pattern, "elementwise");
        whole = whole || set->items[c].region.node_count == 5;
    }
    assert_true(whole);
    assert_int_equal(set->count, 14);
    candidate_set_destroy(set);
    network_destroy(&network);
    registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verifies_and_computes),
        cmocka_unit_test(test_candidates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
