/* SPDX-License-Identifier: Apache-2.0 */
/* The worked example of docs/backends.md, built outside the tree: found, and right. */
#include "plugin/network_fixture.h"

struct example_case {
    const char *text;
    bool supported;
};

#define GRAPH(body)                                                                                \
    "graph \"case\" {\n  input %x: float32[2x6]\n  input %y: float32[2x6]\n" body "}\n"

static const struct example_case cases[] = {
    { GRAPH("  %z: float32[2x6] = Relu(%x)\n  output %z\n"), true },
    { GRAPH("  %s: float32[2x6] = Add(%x, %y)\n  %z: float32[2x6] = Relu(%s)\n  output %z\n"),
      true },
    { GRAPH("  %s: float32[2x6] = Add(%x, %x)\n  %z: float32[2x6] = Relu(%s)\n  output %z\n"),
      true },
    { GRAPH("  const %c: float32[2x6] = {1.0, 2.0, 3.0, -4.0, -5.0, -6.0, 7.0, -8.0, 9.0, 0.0, "
            "1.0, 2.0}\n  %s: float32[2x6] = Add(%c, %y)\n  %z: float32[2x6] = Relu(%s)\n"
            "  output %z\n"),
      true },
    { GRAPH("  const %c: float32[1] = {-1.0}\n  %s: float32[2x6] = Add(%x, %c)\n"
            "  %z: float32[2x6] = Relu(%s)\n  output %z\n"),
      false },
    { GRAPH("  %s: float32[2x6] = Add(%x, %y)\n  %z: float32[2x6] = Relu(%s)\n  output %z\n"
            "  output %s\n"),
      false },
    { GRAPH("  %s: float32[2x6] = Add(%x, %y)\n  output %s\n"), false },
};

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

static void test_example(void **state)
{
    (void)state;
    struct registry *registry = NULL;
    struct error error = { 0 };
    ASSERT_OK(registry_create(COLLAGE_EXAMPLE_PLUGINS, NULL, NULL, &registry, &error), error);
    uint32_t index = registry_find(registry, "example");
    assert_int_equal(index, 1);
    assert_string_equal(registry->entries[index].problem, "");
    collage_target target = registry_host_target(1);
    ASSERT_OK(registry_open(registry, index, &target, &error), error);
    assert_string_equal(registry->entries[index].version, "1.0");
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        check_case(&cases[k], registry, index);
    registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_example) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
