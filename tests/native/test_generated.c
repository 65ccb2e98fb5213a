/* SPDX-License-Identifier: Apache-2.0 */
/* Generated kernels and the interpreter, on NaN, infinities, zeros and denormals, unaligned: the
 * same results. Argument: the folder of plugins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include "backend/registry.h"
#include "base/memory.h"
#include "cases/case_graph.h"

enum { MOST = 8192, INPUTS = 8 };

static const float special[] = { NAN,     -NAN,    INFINITY, -INFINITY, 0.0f,   -0.0f, 1e-42f,
                                 -1e-42f, 3.4e38f, -3.4e38f, 1.0f,      -88.5f, 0.5f,  100.0f };
static const char *plugins;
static char folder[64];
static struct registry *registry;
static uint32_t native;

static void run_variant(const collage_subgraph *subgraph, const collage_target *target,
                        const char *name, float (*inputs)[MOST], float *output)
{
    const collage_backend_api *api = registry->entries[native].api;
    collage_layout in[INPUTS] = { 0 }, out[1] = { 0 };
    collage_variant variant = { .struct_size = sizeof variant, .inputs = in, .outputs = out };
    snprintf(variant.name, sizeof variant.name, "%s", name);
    const collage_compile_request request = {
        .struct_size = sizeof request, .subgraph = subgraph, .variant = &variant, .target = target
    };
    collage_kernel *kernel;
    collage_message message = { "" };
    if (api->compile(registry->entries[native].open, &request, &kernel, &message) != COLLAGE_OK)
        fail_msg("%s: %s", name, message.text);
    const void *from[INPUTS];
    void *to[] = { output + 1 }; /* aligned to nothing but the element */
    for (uint32_t k = 0; k < subgraph->input_count; k++)
        from[k] = inputs[k] + 1;
    assert_int_equal(api->run(kernel, NULL, from, to, NULL, &message), COLLAGE_OK);
    api->kernel_destroy(kernel);
}

/* An infinity is the same one, NaN is NaN, and all else is within rounding. */
static bool is_same(float a, float b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b))
        return a == b;
    return fabsf(a - b) <= 4e-6f * fmaxf(1.0f, fabsf(a));
}

static void compare(const char *name, const char *text, const collage_target *target)
{
    static float inputs[INPUTS][MOST], expected[MOST], actual[MOST];
    const struct operator_case row = { name, text, false };
    struct case_graph made;
    struct region region;
    const collage_subgraph *subgraph;
    struct error error = { 0 };
    if (case_graph_parse(&row, &made, &error) != COLLAGE_OK ||
        case_graph_subgraph(&made, 0, (uint32_t)made.graph->node_count, &region, &subgraph,
                            &error) != COLLAGE_OK)
        fail_msg("%s: %s", name, error.text);
    for (size_t k = 0; k < INPUTS; k++)
        for (size_t i = 0; i < MOST; i++)
            inputs[k][i] =
                special[(i * (2 * k + 1) + i / 13 + k) % (sizeof special / sizeof *special)];
    memset(expected, 0, sizeof expected);
    memset(actual, 0, sizeof actual);
    run_variant(subgraph, target, "elementwise", inputs, expected);
    run_variant(subgraph, target, "generated", inputs, actual);
    for (size_t i = 0; i < MOST; i++)
        if (!is_same(expected[i], actual[i]))
            fail_msg("%s: %g, not %g, at %zu", name, (double)actual[i], (double)expected[i], i);
    case_graph_destroy(&made);
}

static void test_special_values(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "x: 7x131; v: 7x1; r: 131; y = Mul(x, v); z = Max(y, r); u = Min(z, x); w = Relu(u)",
        "x: 5x77; y = Sigmoid(x); z = Tanh(y)",
        "x: 5x77; y = Tanh(x); z = Exp(y); u = Neg(z); v = Erf(u)",
        "x: 3x701; lo = (-2); hi = (3); y = Clip(x, lo, hi); z = LeakyRelu(y) alpha=0.1",
        "x: 3x37; y = Swish(x); z = Abs(y); u = Sqrt(z)",
        "x: 3x37; v: 3x37; y = Div(x, v); z = HardSwish(y); u = HardSigmoid(z)",
        "x: 1031; y = Gelu(x); z = Reciprocal(y)",
        "x: 1031; y = Log(x); z = Elu(y)",
        "x: 9x3; v: 9x3; y = Sub(x, v); z = PRelu(y, v)",
    };
    collage_target target = registry_host_target(2);
    for (int isa = 0; isa < 3; isa++) {
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
            compare(rows[k], rows[k], &target);
        target.avx2 = target.avx512; /* then AVX2, then plain C */
        target.avx512 = false;
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_special_values) };
    const collage_target target = registry_host_target(2);
    struct error error = { 0 };
    if (argc != 2)
        return 2;
    plugins = argv[1];
    snprintf(folder, sizeof folder, "/tmp/test-generated-XXXXXX");
    if (!mkdtemp(folder) || registry_create(plugins, NULL, NULL, &registry, &error) != COLLAGE_OK ||
        code_set_folder(registry->code, folder, &error) != COLLAGE_OK)
        return 1;
    native = registry_find(registry, "native");
    if (native == UINT32_MAX || registry_open(registry, native, &target, &error) != COLLAGE_OK)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    registry_destroy(registry);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) == 0 ? failed : 1;
}
