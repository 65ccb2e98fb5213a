/* SPDX-License-Identifier: Apache-2.0 */
/* test_onednn_graph.c: the plugin by itself: what it refuses and says, the layouts that it offers,
 * and what the library makes one partition of. */
#include "conform/plugin_suite.h"

static const collage_target target = {
    .struct_size = sizeof target, .threads = 2, .avx2 = true, .avx512 = true
};

static const collage_backend_api *plugin(void)
{
    return suite_plugin(ONEDNN_GRAPH_PLUGIN);
}

static void test_refuses_with_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } rows[] = {
        { "x: 3x4; y = Erf(x)", "Erf: it is not mapped" },
        { "x: int64 3x4; v: int64 3x4; y = Add(x, v)", "float32" },
        { "x: 1x1x1x1x2x2x2; y = Relu(x)", "dimensions" },
        { "x: 1x8x4x4; w: 8x8x3x3; y = Conv(x, w)", "weights are not constant" },
        { "x: 1x8x4x4; w = 8x8x3x3; y = ConvTranspose(x, w) auto_pad=SAME_UPPER", "auto_pad" },
        { "x: 1x512x4x4; w = 512x8x4x4; y = ConvTranspose(x, w) strides=[2,2]", "wrongly" },
        { "x: 4; w = 4x5; y = MatMul(x, w)", "not of vectors" },
        { "x: 3x4; w = 4x5; y = Gemm(x, w) alpha=0.5", "alpha" },
        { "x: 3x4; lo: float32; y = Clip(x, lo)", "bounds are not constant" },
        { "x: 3x4; e = (1.5); y = Pow(x, e)", "exponent" },
        { "x: 3x4; s: 3x4; y = PRelu(x, s)", "slope is not constant" },
        { "x: 3x4; y = Gelu(x) approximate=tanh", "approximation" },
        { "x: 3x4; s = 3x4; y = LayerNormalization(x, s) axis=0", "last dimension" },
        { "x: 3x1; a = [1]; y = ReduceSum(x, a)", "changes nothing" },
        { "x: 1x8x9x9; y = AveragePool(x) kernel_shape=[3,3] dilations=[2,2]", "dilations" },
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
        suite_refuses(plugin(), &target, rows[k].text, rows[k].why);
}

static void test_offers_channels_last(void **state)
{
    (void)state;
    static const char *const image[] = { "plain >", "nhwc acdb>acdb", NULL };
    suite_offers(plugin(), &target, "x: 1x3x8x8; w = 32x3x3x3; y = Conv(x, w)", image);
    static const char *const added[] = { "plain ,>", "nhwc acdb,acdb>acdb", NULL };
    suite_offers(plugin(), &target,
                 "x: 1x3x8x8; r: 1x8x6x6; w = 8x3x3x3; y = Conv(x, w); z = Add(y, r)", added);
    static const char *const row[] = { "plain >", NULL };
    suite_offers(plugin(), &target, "x: 5x7; w = 7x4; y = MatMul(x, w)", row);
    suite_offers(plugin(), &target,
                 "x: 1x8x4x4; y = MaxPool(x) kernel_shape=[4,4]; "
                 "z = Flatten(y)",
                 (const char *const[]){ "plain >", "nhwc acdb>", NULL });
}

static void test_says_what_is_wrong_with_the_library(void **state)
{
    (void)state;
    suite_does_not_open(plugin(), &target, "COLLAGE_ONEDNN_LIBRARY", "/nonexistent/libdnnl.so",
                        "set COLLAGE_ONEDNN_LIBRARY");
    suite_does_not_open(plugin(), &target, "COLLAGE_ONEDNN_LIBRARY", "libm.so.6",
                        "libm.so.6 has no dnnl_");
}

/* Chains that the library fuses into one partition; what only reshapes between others is no
 * partition at all. */
static void test_fuses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *made;
    } rows[] = {
        { "x: 1x8x9x9; w = 8x8x3x3; y = Conv(x, w); z = Relu(y)", "1 partition of 2 operations" },
        { "x: 5x16; r: 5x8; w = 16x8; b = 8; y = MatMul(x, w); z = Add(y, b); u = Add(z, r); "
          "v = Gelu(u)",
          "1 partition of 4 operations" },
        { "x: 5x16; w = 16x8; s = [5,2,4]; y = MatMul(x, w); z = Reshape(y, s); "
          "u = Softmax(z)",
          "2 partitions of 2 operations" },
        { "q: 1x2x8x4; k: 1x2x4x8; v: 1x2x8x4; s = (0.125); m: 1x1x1x8; n = [1,8,8]; "
          "y = MatMul(q, k); z = Mul(y, s); u = Add(z, m); p = Softmax(u); o = MatMul(p, v); "
          "t = Transpose(o) perm=[0,2,1,3]; r = Reshape(t, n)",
          "1 partition of 7 operations" },
        { "q: 1x2x8x4; k: 1x2x4x8; v: 1x2x8x4; s = (0.125); m: 1x1x1x8; y = MatMul(q, k); "
          "z = Mul(y, s); u = Add(z, m); p = Softmax(u); o = MatMul(p, v)",
          "3 partitions of 5 operations" },
        { "x: 1x2x8x8; s = (0.125); m: 1x1x1x8; y = Mul(x, s); z = Add(y, m)",
          "2 partitions of 2 operations" }, /* fused it would run in plain loops */
    };
    const collage_backend_api *api = plugin();
    collage_backend *backend = NULL;
    collage_message message = { "" };
    if (api->open(NULL, &target, &backend, &message) != COLLAGE_OK)
        fail_msg("%s", message.text);
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct suite_case made;
        collage_kernel *kernel = NULL;
        collage_kernel_info info = { .struct_size = sizeof info };
        suite_make(&made, rows[k].text);
        if (suite_compile(api, backend, &target, &made, "plain", &kernel, &message) != COLLAGE_OK)
            fail_msg("%s: %s", rows[k].text, message.text);
        api->kernel_info(kernel, &info);
        assert_string_equal(info.implementation, rows[k].made);
        api->kernel_destroy(kernel);
        case_graph_destroy(&made.made);
    }
    api->close(backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refuses_with_a_reason),
        cmocka_unit_test(test_offers_channels_last),
        cmocka_unit_test(test_says_what_is_wrong_with_the_library),
        cmocka_unit_test(test_fuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
