/* SPDX-License-Identifier: Apache-2.0 */
/* test_blas.c: the plugins of BLAS by themselves, with OpenBLAS's as the one that is looked at:
 * what they refuse and say, the variants that they offer, and how large their workspaces are. */
#include "conform/plugin_suite.h"

static const collage_target two = {
    .struct_size = sizeof two, .threads = 2, .avx2 = true, .avx512 = true
};
static const collage_target one = {
    .struct_size = sizeof one, .threads = 1, .avx2 = true, .avx512 = true
};

static const collage_backend_api *plugin(void)
{
    return suite_plugin(OPENBLAS_PLUGIN);
}

static void test_refuses_with_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } rows[] = {
        { "x: 4; v: 4x5; y = MatMul(x, v)", "shapes or strides" },
        { "x: 3x4; v: 4; y = MatMul(x, v)", "shapes or strides" },
        { "x: 3x4; y = Softmax(x)", "Softmax is no product" },
        { "x: 3x4; w = 4x5; y = MatMul(x, w); z = Softmax(y)", "Softmax is not fused" },
        { "x: 3x4; w = 4x5; c: 5; y = MatMul(x, w); z = Add(y, c)", "Add is not fused" },
        { "x: 2x3x4x5; v: 2x3x5x6; y = MatMul(x, v); z = Transpose(y) perm=[0,2,3,1]",
          "shapes or strides" },
        { "x: 2x3x4; v: 2x4x5; y = MatMul(x, v); z = Relu(y); t = Transpose(z)", "not fused" },
        { "x: 2x3x4; v: 2x4x5; y = MatMul(x, v); z = Transpose(y) perm=[1,0,2]; t = Relu(z)",
          "something follows the Transpose" },
        { "x: 2x3x4; y = Transpose(x); z = Relu(y)", "Transpose is no product" },
        { "x: 1x8x4x4; w = 8x1x3x3; y = Conv(x, w) group=8", "depthwise" },
        { "x: 1x8x4x4; w = 8x8x3x3; b: 8; y = Conv(x, w, b)", "bias is not constant" },
        { "x: 1x8x4x4; w = 8x8x3x3; r: 1x8x1x1; y = Conv(x, w); z = Mul(y, r)", "not fused" },
        { "x: 1x8x2x2x2x2; w = 8x8x1x1x1x1; y = Conv(x, w)", "1 to 3 dimensions" },
        { "x: 0x4; w = 4x5; y = MatMul(x, w)", "empty" },
        { "x: 3x4; w = 4x5; y = MatMul(x, w); z = Add(y, y)", "not fused" },
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
        suite_refuses(plugin(), &two, rows[k].text, rows[k].why);
}

static void test_offers_variants(void **state)
{
    (void)state;
    static const char *const matrix[] = { "gemm >", NULL };
    suite_offers(plugin(), &one, "x: 5x32; w = 32x16; y = MatMul(x, w)", matrix);
    static const char *const vector[] = { "gemm >",    "gemv >",    "split >", "split_gemv >",
                                          "gemm/1t >", "gemv/1t >", NULL };
    suite_offers(plugin(), &two, "x: 1x32; w = 32x16; y = MatMul(x, w)", vector);
    /* One product of more rows, instead of a batch. */
    suite_offers(plugin(), &two, "x: 3x1x32; w = 32x1; y = MatMul(x, w)", vector);
    static const char *const large[] = { "gemm >", "split >", NULL };
    suite_offers(plugin(), &two, "x: 500x320; w = 320x200; y = MatMul(x, w)", large);
    static const char *const residual[] = { "gemm ,>", "nhwc acdb,acdb>acdb", NULL };
    suite_offers(plugin(), &one,
                 "x: 1x16x4x4; r: 1x32x4x4; w = 32x16x1x1; y = Conv(x, w); z = Add(y, r)",
                 residual);
    static const char *const line[] = {
        "gemm >",          "split >", "gemm/1t >", "nhwc acb>acb", "nhwc_split acb>acb",
        "nhwc/1t acb>acb", NULL
    };
    suite_offers(plugin(), &two, "x: 1x16x9; w = 32x16x3; y = Conv(x, w)", line);
    /* Weights that are not constant cannot be put into another order. */
    static const char *const given[] = { "gemm ,>", NULL };
    suite_offers(plugin(), &one, "x: 1x16x4x4; w: 32x16x1x1; y = Conv(x, w)", given);
}

static void test_patterns_are_well_formed(void **state)
{
    (void)state;
    suite_patterns_parse(plugin());
}

static void test_says_what_is_wrong_with_the_library(void **state)
{
    (void)state;
    suite_does_not_open(plugin(), &two, "COLLAGE_OPENBLAS_LIBRARY", "/nonexistent/libopenblas.so",
                        "install Debian's libopenblas0-openmp");
    suite_does_not_open(plugin(), &two, "COLLAGE_OPENBLAS_LIBRARY", "libm.so.6",
                        "libm.so.6 has no CBLAS");
#ifdef BLIS_LIBRARY /* a CBLAS, but another */
    suite_does_not_open(plugin(), &two, "COLLAGE_OPENBLAS_LIBRARY", BLIS_LIBRARY,
                        "is not OpenBLAS");
#endif
}

static void test_workspaces_are_bounded(void **state)
{
    (void)state;
    static const char *const names[] = { "gemm", "split", "nhwc", "nhwc_split" };
    const uint64_t bound = UINT64_C(9) << 20; /* all windows at once would be 231 MB */
    const collage_backend_api *api = plugin();
    collage_backend *backend = NULL;
    collage_message message = { "" };
    struct suite_case made;
    if (api->open(NULL, &two, &backend, &message) != COLLAGE_OK)
        fail_msg("%s", message.text);
    suite_make(&made, "x: 1x128x224x224; w = 2x128x3x3; y = Conv(x, w) pads=[1,1,1,1]");
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        collage_kernel *kernel = NULL;
        collage_kernel_info info = { .struct_size = sizeof info };
        if (suite_compile(api, backend, &two, &made, names[k], &kernel, &message) != COLLAGE_OK)
            fail_msg("%s: %s", names[k], message.text);
        api->kernel_info(kernel, &info);
        assert_true(info.scratch_bytes > 0);
        assert_true(info.scratch_bytes < bound);
        api->kernel_destroy(kernel);
    }
    collage_kernel *kernel = NULL;
    assert_int_equal(suite_compile(api, backend, &two, &made, "gemv", &kernel, &message),
                     COLLAGE_ERROR_UNSUPPORTED);
    assert_non_null(strstr(message.text, "no variant 'gemv'"));
    assert_null(kernel);
    case_graph_destroy(&made.made);
    api->close(backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refuses_with_a_reason),
        cmocka_unit_test(test_offers_variants),
        cmocka_unit_test(test_patterns_are_well_formed),
        cmocka_unit_test(test_says_what_is_wrong_with_the_library),
        cmocka_unit_test(test_workspaces_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
