/* SPDX-License-Identifier: Apache-2.0 */
/* test_xnnpack.c: the plugin by itself: what it refuses and says, the variants that it offers, and
 * that tensors may end where memory ends, though the library reads beyond them. */
#include "conform/plugin_suite.h"

#include <sys/mman.h>
#include <unistd.h>

static const collage_target target = {
    .struct_size = sizeof target, .threads = 2, .avx2 = true, .avx512 = true
};

static const collage_backend_api *plugin(void)
{
    return suite_plugin(XNNPACK_PLUGIN);
}

static void test_refuses_with_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } rows[] = {
        { "x: 3x4; y = Tanh(x)", "Tanh is not mapped" },
        { "x: 1x8x3x4x4; w = 8x8x1x1x1; y = Conv(x, w)", "1 or 2 dimensions" },
        { "x: 1x8x4x4; w: 8x8x3x3; y = Conv(x, w)", "weights are not constant" },
        { "x: 1x8x4x4; w = 8x8x3x3; b: 8; y = Conv(x, w, b)", "bias is not constant" },
        { "x: 1x8x4x4; w = 8x8x3x3; y = Conv(x, w); z = Sigmoid(y)", "Sigmoid is not fused" },
        { "x: 1x8x4x4; w = 8x8x1x1; lo = (2.0); hi = (1.0); y = Conv(x, w); z = Clip(y, lo, hi)",
          "bounds leave no numbers" },
        { "x: 3x4; v: 4x5; y = MatMul(x, v)", "no constant matrix" },
        { "x: 3x4; w = 4x5; y = Gemm(x, w) alpha=0.5", "alpha" },
        { "x: 3x4; w = 4x5; c: 5; y = MatMul(x, w); z = Add(y, c)", "no constant vector" },
        { "x: 1x8x9x9; y = AveragePool(x) kernel_shape=[3,3] pads=[1,1,1,1] count_include_pad=1",
          "over pads" },
        { "x: 1x8x9x9; y = MaxPool(x) kernel_shape=[1,1] strides=[2,2]", "one element" },
        { "x: 3x4; y = Softmax(x) axis=0", "innermost" },
        { "x: 1x8x4x4; s = (1,1,2,2); y = Resize(x, , s)", "mode 'linear'" },
        { "x: 1x8x4x4; s = (1,1,1.3,1.3); y = Resize(x, , s) mode=linear", "other coordinates" },
        { "x: 3x4; s: 3x4; y = PRelu(x, s)", "slope is not constant" },
        { "x: 3x4; y = LeakyRelu(x) alpha=0.0", "alpha" },
        { "x: 1x1x1x2x2x2x2; v: 1x1x1x2x2x2x2; y = Add(x, v)", "dimensions" },
        { "x: 3x4; s = (1000000.0); y = Mul(x, s)", "denormal" },
        { "x: 3x4; s = (0.000001); y = Div(x, s)", "denormal" },
        { "x: 3x4; v: 3x4; u: 3x4; y = Max(x, v, u)", "two tensors" },
        { "x: int64 3x4; v: int64 3x4; y = Add(x, v)", "float32" },
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
        suite_refuses(plugin(), &target, rows[k].text, rows[k].why);
}

static void test_offers_variants(void **state)
{
    (void)state;
    static const char *const image[] = { "nhwc acdb>acdb", "nhwc/1t acdb>acdb", NULL };
    suite_offers(plugin(), &target, "x: 1x3x8x8; w = 32x3x3x3; y = Conv(x, w)", image);
    static const char *const line[] = { "nhwc acb>acb", "nhwc/1t acb>acb", NULL };
    suite_offers(plugin(), &target, "x: 1x16x9; w = 32x16x3; y = Conv(x, w)", line);
    static const char *const matrix[] = { "plain >", NULL };
    suite_offers(plugin(), &target, "x: 500x320; w = 320x200; y = MatMul(x, w)", matrix);
    static const char *const sum[] = { "plain ,>", "nhwc acdb,>acdb", "plain/1t ,>",
                                       "nhwc/1t acdb,>acdb", NULL };
    suite_offers(plugin(), &target, "x: 1x16x4x4; v: 16x1x1; y = Add(x, v)", sum);
    static const char *const plain[] = { "plain ,>", "plain/1t ,>", NULL };
    suite_offers(plugin(), &target, "x: 2x16x4x4; v: 16x4x4; y = Add(x, v)", plain);
}

static void test_patterns_are_well_formed(void **state)
{
    (void)state;
    suite_patterns_parse(plugin());
}

static void test_says_what_is_wrong_with_the_library(void **state)
{
    (void)state;
    suite_does_not_open(plugin(), &target, "COLLAGE_XNNPACK_LIBRARY", "/nonexistent/libXNNPACK.so",
                        "install Debian's libxnnpack0");
    suite_does_not_open(plugin(), &target, "COLLAGE_XNNPACK_LIBRARY", "libm.so.6",
                        "libm.so.6 has no xnn_");
}

/* An operand that ends with a page, behind which there is nothing. */
static void test_reads_nothing_that_is_not_there(void **state)
{
    (void)state;
    enum { ELEMENTS = 33 };
    const collage_backend_api *api = plugin();
    collage_backend *backend = NULL;
    collage_kernel *kernel = NULL;
    collage_message message = { "" };
    struct suite_case made;
    if (api->open(NULL, &target, &backend, &message) != COLLAGE_OK)
        fail_msg("%s", message.text);
    suite_make(&made, "x: 33; y = Softmax(x)");
    if (suite_compile(api, backend, &target, &made, "plain", &kernel, &message) != COLLAGE_OK)
        fail_msg("%s", message.text);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
    const void *inputs[] = { memory + page - ELEMENTS * sizeof(float) };
    float result[ELEMENTS] = { 0 };
    void *outputs[] = { result };
    collage_kernel_info info = { .struct_size = sizeof info };
    api->kernel_info(kernel, &info);
    assert_true(info.scratch_bytes >= sizeof result);
    void *scratch = aligned_alloc(64, info.scratch_bytes);
    assert_non_null(scratch);
    assert_int_equal(api->run(kernel, NULL, inputs, outputs, scratch, &message), COLLAGE_OK);
    for (int k = 0; k < ELEMENTS; k++)
        assert_float_equal(result[k], 1.0f / ELEMENTS, 1e-6f); /* the memory is zero */
    free(scratch);
    assert_int_equal(munmap(memory, 2 * page), 0);
    api->kernel_destroy(kernel);
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
        cmocka_unit_test(test_reads_nothing_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
