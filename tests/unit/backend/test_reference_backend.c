/* SPDX-License-Identifier: Apache-2.0 */
/* The reference as a backend: the same results as the operators it is made of, whatever the
 * wiring. */
#include "plugin/network_fixture.h"

#include "backend/reference_backend.h"
#include "tensor/layout.h"

static const char *const one_node_texts[] = {
    /* a convolution: weights constant, attributes that must be copied */
    "graph \"conv\" {\n"
    "  input %x: float32[1x3x8x8]\n"
    "  const %w: float32[4x3x3x3] = #00000000000000000000000000000000\n"
    "  const %b: float32[4] = {0.5, -0.5, 1.0, 2.0}\n"
    "  %y: float32[1x4x4x4] = Conv(%x, %w, %b) {pads = [1, 1, 1, 1], strides = [2, 2]}\n"
    "  output %y\n}\n",
    /* one input used twice */
    "graph \"square\" {\n"
    "  input %x: float32[3x4]\n"
    "  %y: float32[3x4] = Mul(%x, %x)\n"
    "  output %y\n}\n",
    /* a left-out optional input, integers */
    "graph \"clip\" {\n"
    "  input %x: float32[3x4]\n"
    "  const %high: float32[] = {0.25}\n"
    "  %y: float32[3x4] = Clip(%x, _, %high)\n"
    "  output %y\n}\n",
    /* several outputs, one of them used by nobody (it goes to scratch memory) */
    "graph \"split\" {\n"
    "  input %x: float32[2x6]\n"
    "  %a: float32[2x2], %b: float32[2x2], %c: float32[2x2] = Split(%x) {axis = 1, num_outputs = "
    "3}\n"
    "  output %a\n  output %c\n}\n",
    "graph \"identity\" {\n"
    "  input %x: float32[2x6]\n"
    "  %y: float32[2x6] = Identity(%x)\n"
    "  output %y\n}\n",
};

static struct registry *open_reference(void)
{
    struct registry *registry = NULL;
    struct error error = { 0 };
    collage_target target = registry_host_target(1);
    ASSERT_OK(registry_create("", NULL, NULL, &registry, &error), error);
    ASSERT_OK(registry_open(registry, REGISTRY_REFERENCE, &target, &error), error);
    return registry;
}

static void test_one_node(void **state)
{
    (void)state;
    struct registry *registry = open_reference();
    collage_target target = registry_host_target(1);
    for (size_t k = 0; k < sizeof one_node_texts / sizeof one_node_texts[0]; k++) {
        struct network network;
        network_parse(&network, one_node_texts[k]);
        collage_message message = { "" };
        collage_kernel *kernel = NULL;
        if (network_compile(&network, registry, REGISTRY_REFERENCE, &target, 0, NULL, &kernel,
                            &message) != COLLAGE_OK)
            fail_msg("%s", message.text);
        network_check(&network, reference_backend(), kernel);
        network_check(&network, reference_backend(), kernel);
        reference_backend()->kernel_destroy(kernel);
        network_destroy(&network);
    }
    registry_destroy(registry);
}

static void test_registry_lists_it_first(void **state)
{
    (void)state;
    struct registry *registry = open_reference();
    assert_int_equal(registry->count, 1);
    assert_string_equal(registry->entries[REGISTRY_REFERENCE].name, "reference");
    assert_string_equal(registry->entries[REGISTRY_REFERENCE].file, "");
    assert_true(registry->entries[REGISTRY_REFERENCE].version[0]);
    assert_int_equal(registry_find(registry, "reference"), REGISTRY_REFERENCE);
    assert_int_equal(registry_find(registry, "none"), UINT32_MAX);
    registry_destroy(registry);
}

/* A directory that is not there is a warning, not an error. */
static void count_warning(void *user, collage_log_level level, const char *line)
{
    assert_int_equal(level, COLLAGE_LOG_WARNING);
    assert_non_null(strstr(line, "/no/such/folder"));
    ++*(int *)user;
}

static void test_missing_directory(void **state)
{
    (void)state;
    int warnings = 0;
    struct registry *registry = NULL;
    struct error error = { 0 };
    ASSERT_OK(registry_create("/no/such/folder", count_warning, &warnings, &registry, &error),
              error);
    assert_int_equal(warnings, 1);
    assert_int_equal(registry->count, 1);
    registry_destroy(registry);
}

static void test_every_operator_has_a_pattern(void **state)
{
    (void)state;
    const collage_backend_api *api = reference_backend();
    assert_int_equal(api->pattern_count, op_count());
    for (size_t k = 0; k < api->pattern_count; k++)
        assert_non_null(op_find(api->patterns[k].text));
}

static void test_takes_one_node_only(void **state)
{
    (void)state;
    struct registry *registry = open_reference();
    struct network network;
    network_parse(&network, "graph \"two\" {\n  input %x: float32[4]\n"
                            "  %a: float32[4] = Relu(%x)\n  %b: float32[4] = Neg(%a)\n"
                            "  output %b\n}\n");
    collage_target target = registry_host_target(1);
    collage_message message = { "" };
    collage_kernel *kernel = NULL;
    assert_false(reference_backend()->supports(network.subgraph, &target, &message));
    assert_true(message.text[0]);
    assert_int_equal(network_compile(&network, registry, REGISTRY_REFERENCE, &target, 0, NULL,
                                     &kernel, &message),
                     COLLAGE_ERROR_UNSUPPORTED);
    assert_null(kernel);
    network_destroy(&network);
    registry_destroy(registry);
}

/* Compiles Identity (or another node) between two layouts. */
static collage_status compile_layouts(const struct registry *registry,
                                      const struct network *network, const char *from,
                                      const char *to, collage_kernel **kernel)
{
    collage_layout input = layout_tag(from), output = layout_tag(to);
    collage_target target = registry_host_target(1);
    collage_message message = { "" };
    collage_variant variant = { .struct_size = sizeof variant,
                                .inputs = &input,
                                .outputs = &output };
    collage_compile_request request = { .struct_size = sizeof request,
                                        .subgraph = network->subgraph,
                                        .variant = &variant,
                                        .target = &target };
    const struct backend_entry *reference = &registry->entries[REGISTRY_REFERENCE];
    return reference->api->compile(reference->open, &request, kernel, &message);
}

static void test_reorder(void **state)
{
    (void)state;
    struct registry *registry = open_reference();
    struct network network;
    network_parse(&network, "graph \"reorder\" {\n  input %x: float32[1x3x2x2]\n"
                            "  %y: float32[1x3x2x2] = Identity(%x)\n  output %y\n}\n");
    collage_kernel *kernel = NULL;
    assert_int_equal(compile_layouts(registry, &network, "", "aBcd8b", &kernel), COLLAGE_OK);
    float blocked[32];
    void *outputs[] = { blocked };
    collage_message message = { "" };
    memset(blocked, 0x5a, sizeof blocked);
    assert_int_equal(
        reference_backend()->run(kernel, NULL, network.inputs, outputs, NULL, &message),
        COLLAGE_OK);
    const float *plain = network.inputs[0];
    for (int channel = 0; channel < 8; channel++)
        for (int at = 0; at < 4; at++) {
            float expected = channel < 3 ? plain[channel * 4 + at] : 0.0f;
            assert_true(blocked[at * 8 + channel] == expected);
        }
    reference_backend()->kernel_destroy(kernel);
    assert_int_equal(compile_layouts(registry, &network, "!mine", "", &kernel),
                     COLLAGE_ERROR_UNSUPPORTED);
    network_destroy(&network);
    network_parse(&network, "graph \"relu\" {\n  input %x: float32[1x3x2x2]\n"
                            "  %y: float32[1x3x2x2] = Relu(%x)\n  output %y\n}\n");
    assert_int_equal(compile_layouts(registry, &network, "acdb", "", &kernel),
                     COLLAGE_ERROR_UNSUPPORTED);
    network_destroy(&network);
    registry_destroy(registry);
}

static void test_no_standalone(void **state)
{
    (void)state;
    struct registry *registry = open_reference();
    struct network network;
    network_parse(&network, one_node_texts[1]);
    collage_target target = registry_host_target(1);
    collage_message message = { "" };
    collage_kernel *kernel = NULL;
    assert_int_equal(network_compile(&network, registry, REGISTRY_REFERENCE, &target,
                                     COLLAGE_COMPILE_STANDALONE, "x.onnx", &kernel, &message),
                     COLLAGE_ERROR_UNSUPPORTED);
    network_destroy(&network);
    registry_destroy(registry);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    struct registry *registry = open_reference();
    struct network network;
    network_parse(&network, one_node_texts[0]);
    collage_target target = registry_host_target(1);
    collage_status status = COLLAGE_ERROR_MEMORY;
    for (size_t n = 1; n < 100 && status != COLLAGE_OK; n++) {
        collage_message message = { "" };
        collage_kernel *kernel = NULL;
        memory_fail_after(n);
        status = network_compile(&network, registry, REGISTRY_REFERENCE, &target, 0, NULL, &kernel,
                                 &message);
        memory_fail_after(0);
        assert_true(status == COLLAGE_OK || (status == COLLAGE_ERROR_MEMORY && !kernel));
        reference_backend()->kernel_destroy(kernel);
    }
    assert_int_equal(status, COLLAGE_OK);
    network_destroy(&network);
    registry_destroy(registry);
}

/* A lack of memory is no problem of the library that would keep it closed for good. */
static void test_lack_of_memory_is_not_remembered(void **state)
{
    (void)state;
    static char long_version[100000];
    struct registry *registry = NULL;
    struct error error = { 0 };
    collage_target target = registry_host_target(1);
    ASSERT_OK(registry_create("", NULL, NULL, &registry, &error), error);
    const struct backend_entry *entry = &registry->entries[REGISTRY_REFERENCE];
    memory_fail_after(1);
    collage_status status = registry_open(registry, REGISTRY_REFERENCE, &target, &error);
    memory_fail_after(0);
    assert_int_equal(status, COLLAGE_ERROR_MEMORY);
    assert_string_equal(error.text, "backend reference: out of memory");
    assert_string_equal(entry->problem, "");
    memset(long_version, 'v', sizeof long_version - 1); /* more than the arena has left */
    memory_fail_after(1);
    bool kept = registry_set_version(registry, REGISTRY_REFERENCE, long_version, "broken");
    memory_fail_after(0);
    assert_false(kept);
    assert_string_equal(entry->version, "");
    assert_string_equal(entry->problem, "");
    error_clear(&error);
    ASSERT_OK(registry_open(registry, REGISTRY_REFERENCE, &target, &error), error);
    registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_node),
        cmocka_unit_test(test_registry_lists_it_first),
        cmocka_unit_test(test_missing_directory),
        cmocka_unit_test(test_every_operator_has_a_pattern),
        cmocka_unit_test(test_takes_one_node_only),
        cmocka_unit_test(test_reorder),
        cmocka_unit_test(test_no_standalone),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_lack_of_memory_is_not_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
