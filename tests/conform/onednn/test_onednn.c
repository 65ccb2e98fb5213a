/* SPDX-License-Identifier: Apache-2.0 */
/* test_onednn.c: the plugin by itself: what it refuses and says, the variants it offers, and how
 * its kernels share packed weights, also when several threads compile. */
#include "cases/case_graph.h"
#include "pattern/pattern.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { HEAP_IS_OURS = 0 };
#else
enum { HEAP_IS_OURS = 1 };
#endif

enum { MAX_PORTS = 8, THREADS = 2 };

static const collage_target target = {
    .struct_size = sizeof target, .threads = THREADS, .avx2 = true, .avx512 = true
};

static const collage_backend_api *plugin(void)
{
    void *library = dlopen(ONEDNN_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    void *address = dlsym(library, COLLAGE_BACKEND_ENTRY_NAME);
    collage_backend_entry_fn entry;
    memcpy(&entry, &address, sizeof entry);
    assert_non_null(entry);
    assert_null(entry(COLLAGE_ABI_MAJOR + 1));
    const collage_backend_api *api = entry(COLLAGE_ABI_MAJOR);
    assert_non_null(api);
    return api;
}

/* A case's nodes from `first` on as a sub-graph. */
static const collage_subgraph *make(const char *text, node_id first, struct case_graph *made,
                                    struct region *region)
{
    struct operator_case conform = { "test", text, false };
    struct error error = { 0 };
    const collage_subgraph *subgraph;
    if (case_graph_create(&conform, made, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(case_graph_subgraph(made, first, (uint32_t)made->graph->node_count - first,
                                         region, &subgraph, &error),
                     COLLAGE_OK);
    return subgraph;
}

/* ---- describing ---- */

static const struct refusal {
    const char *text;
    node_id first;
    const char *why;
} refusals[] = {
    { "x: 1x3x5x5; w: 8x3x3x3; y = Conv(x, w)", 0, "weights are not constant" },
    { "x: 1x4x5x5; w = 8x4x3x3; b: 8; y = Conv(x, w, b)", 0, "weights are not constant" },
    { "x: 4; v: 4; y = MatMul(x, v)", 0, "vectors" },
    { "x: 3x4; v: 4x5; y = Gemm(x, v) alpha=0.5", 0, "alpha" },
    { "x: 3x4; w = 4x5; c: 5; y = Gemm(x, w, c) beta=0.5", 0, "beta" },
    { "x: 1x16x8x8; y = AveragePool(x) kernel_shape=[3,3] dilations=[2,2]", 0, "dilations" },
    { "x: 1x16x8x8; y = AveragePool(x) kernel_shape=[3,3] strides=[2,2] ceil_mode=1 "
      "count_include_pad=1",
      0, "ceil_mode" },
    { "x: 3x4; lo: 1; y = Clip(x, lo)", 0, "" },
    { "x: 3x4; lo = (2.0); hi = (1.0); y = Clip(x, lo, hi)", 0, "bounds" },
    { "x: 3x4; y = Softmax(x); z = Relu(y)", 0, "alone" },
    { "x: 3x4; y = Floor(x)", 0, "not mapped" },
    { "x: 3x4; s = Shape(x); y = Abs(s)", 1, "float32" },
    { "x: 3x4; v: 3x4; u: 3x4; y = Max(x, v, u)", 0, "not mapped" },
    { "x: 1x2x3x1x2x1x2; y = Relu(x)", 0, "rank" },
    { "x: 1x16x4x4; w = 16x16x1x1; v: 1x16x4x4; y = Conv(x, w); z = Div(v, y)", 0, "right" },
    { "x: 1x16x1x1; w = 16x16x1x1; v: 1x16x4x4; y = Conv(x, w); z = Add(v, y)", 0, "shape" },
    { "x: 1x16x4x4; w = 16x16x1x1; y = Conv(x, w); z = Add(y, y)", 0, "chain" },
    { "x: 5x5; y = Transpose(x); z = MatMul(y, y)", 0, "one operand" },
    { "x: 5x5; v: 3x5x5; y = Transpose(x); z = MatMul(y, v)", 0, "broadcast" },
    { "x: 1x16x4x4; w = 16x16x1x1; y = Conv(x, w); z = Transpose(y)", 0, "shape" },
    { "x: 3x4; y = Sigmoid(x); z = Relu(y)", 0, "fused behind Sigmoid" },
    { "x: 3x2x8; w: 1x64x8; r = 1x64x16; y = LSTM(x, w, r)", 0, "weights are not constant" },
    { "x: 3x2x8; w = 1x64x8; r = 1x64x16; b: 1x128; y = LSTM(x, w, r, b)", 0, "bias" },
    { "x: 3x2x8; w = 1x64x8; r = 1x64x16; h: 1x2x16; y = LSTM(x, w, r, , , h)", 0, "only one" },
    { "x: 3x2x8; w = 1x64x8; r = 1x64x16; p = 1x48; y = LSTM(x, w, r, , , , , p)", 0, "peepholes" },
    { "x: 1x8x4x4; s = (1,2,1,1); y = Resize(x, , s)", 0, "only the space" },
    { "x: 8x4; s = (2,2); y = Resize(x, , s)", 0, "1, 2 or 3 dimensions" },
    { "x: 1x8x4x4; s = (1,1,2,2); y = Resize(x, , s) mode=cubic", 0, "cubic" },
    { "x: 1x8x4x4; n = [1,8,6,6]; y = Resize(x, , , n) coordinate_transformation_mode=asymmetric",
      0, "other coordinates" },
    { "x: 1x8x4x4; s = (1,1,2,2); r: 1x8x8x8; y = Resize(x, , s); z = Add(y, r)", 0, "not fused" },
    { "x: 1x8x4x4; p = [0,0,1,1,0,0,1,1]; y = Pad(x, p) mode=edge", 0, "with a constant" },
    { "x: 1x8x4x4; p = [0,0,1,1,0,0,1,1]; v: float32; y = Pad(x, p, v)", 0, "value of Pad" },
    { "x: 1x8x4x4; p = [0,0,1,1,0,0,1,1]; v = (1); w = 8x8x3x3; y = Pad(x, p, v); z = Conv(y, w)",
      0, "does not pad with" },
    { "x: 1x7x4x4; p = [0,1,0,0,0,0,0,0]; w = 8x8x3x3; y = Pad(x, p); z = Conv(y, w)", 0,
      "more than to pad the space" },
    { "x: 1x8x6x6; p = [0,0,-1,0,0,0,0,0]; w = 8x8x3x3; y = Pad(x, p); z = Conv(y, w)", 0,
      "more than to pad the space" },
    { "x: 1x8x4x4; p = [0,0,1,1,0,0,1,1]; y = Pad(x, p); z = MaxPool(y) kernel_shape=[3,3]", 0,
      "does not pad with" },
    { "x: 1x8x4x4; p = [0,0,1,1,0,0,1,1]; y = Pad(x, p); z = AveragePool(y) kernel_shape=[3,3] "
      "pads=[1,1,1,1]",
      0, "both pad" },
    { "x: 9x4; i = [2,3]; y = Gather(x, i)", 0, "one constant index" },
    { "x: 9x4; a = [5]; e = [1]; d = [0]; s = [-1]; y = Slice(x, a, e, d, s)", 0, "backwards" },
    { "x: 3x4; s: 3x4; y = PRelu(x, s); z = Relu(y)", 0, "alone" },
    { "x: uint8 3x4; y = Transpose(x)", 0, "float32" },
    { "x: int8 3x4; v: int8 3x5; y = Concat(x, v) axis=1", 0, "float32" },
    { "x: uint8 1x16x8x8; y = MaxPool(x) kernel_shape=[3,3]", 0, "float32" },
    { "x: float16 3x4; y = Relu(x)", 0, "float32" },
    { "x: int8 3x4; y = Identity(x)", 0, "" },
    { "x: 3x4; s = (0.5); y = QuantizeLinear(x, s)", 0, "not mapped" },
    { "x: uint8 3x4; s = (0.5); y = DequantizeLinear(x, s)", 0, "not mapped" },
    { "x: uint8 3x4; w = int8 4x5; y = MatMulInteger(x, w)", 0, "not mapped" },
};

static void test_refuses_with_a_reason(void **state)
{
    (void)state;
    const collage_backend_api *api = plugin();
    for (size_t k = 0; k < sizeof refusals / sizeof refusals[0]; k++) {
        struct case_graph made;
        struct region region;
        collage_message why = { "" };
        const collage_subgraph *subgraph =
            make(refusals[k].text, refusals[k].first, &made, &region);
        if (api->supports(subgraph, &target, &why))
            fail_msg("taken: %s", refusals[k].text);
        if (!why.text[0] || !strstr(why.text, refusals[k].why) || strchr(why.text, '\n'))
            fail_msg("%s: '%s' does not say '%s'", refusals[k].text, why.text, refusals[k].why);
        case_graph_destroy(&made);
    }
}

/* The index-th variant as "name in,in>out"; false if there is none. */
static bool describe(const collage_backend_api *api, const collage_subgraph *subgraph,
                     const collage_target *machine, size_t index, char *text, size_t size)
{
    collage_layout inputs[MAX_PORTS] = { { "" } }, outputs[MAX_PORTS] = { { "" } };
    collage_variant variant = { .struct_size = sizeof variant,
                                .inputs = inputs,
                                .outputs = outputs };
    if (!api->variant(subgraph, machine, index, &variant))
        return false;
    int count = snprintf(text, size, "%s ", variant.name);
    for (uint32_t k = 0; k < subgraph->input_count; k++)
        count += snprintf(text + count, size - (size_t)count, "%s%s", k ? "," : "", inputs[k].tag);
    snprintf(text + count, size - (size_t)count, ">%s", outputs[0].tag);
    return true;
}

static void check_variants(const char *text, bool avx512, int32_t threads,
                           const char *const *expected)
{
    const collage_backend_api *api = plugin();
    struct case_graph made;
    struct region region;
    char line[128];
    collage_target machine = target;
    machine.avx512 = avx512;
    machine.threads = threads;
    const collage_subgraph *subgraph = make(text, 0, &made, &region);
    size_t k = 0;
    for (; describe(api, subgraph, &machine, k, line, sizeof line); k++) {
        if (!expected[k])
            fail_msg("%s: unexpected variant %s", text, line);
        assert_string_equal(line, expected[k]);
    }
    if (expected[k])
        fail_msg("%s: no variant %s", text, expected[k]);
    case_graph_destroy(&made);
}

static void test_offers_variants(void **state)
{
    (void)state;
    static const char *const residual[] = { "plain ,>",
                                            "nhwc acdb,acdb>acdb",
                                            "blocked aBcd16b,aBcd16b>aBcd16b",
                                            "plain/sum ,>",
                                            "nhwc/sum acdb,acdb>acdb",
                                            "blocked/sum aBcd16b,aBcd16b>aBcd16b",
                                            NULL };
    check_variants("x: 1x16x4x4; r: 1x32x4x4; w = 32x16x1x1; y = Conv(x, w); z = Add(y, r)", true,
                   1, residual);
    static const char *const image[] = { "plain >", "nhwc acdb>acdb", "plain-blocked >aBcd8b",
                                         NULL };
    check_variants("x: 1x3x8x8; w = 32x3x3x3; y = Conv(x, w)", false, 1, image);
    static const char *const global[] = {
        "plain >",          "nhwc acdb>acdb",         "blocked aBcd16b>aBcd16b",
        "nhwc-plain acdb>", "blocked-plain aBcd16b>", NULL
    };
    check_variants("x: 1x32x4x4; y = GlobalAveragePool(x)", true, 1, global);
    static const char *const matrix[] = { "matmul >", "inner_product >", NULL };
    check_variants("x: 5x32; w = 32x16; y = MatMul(x, w)", true, 1, matrix);
    /* An operand that is the residual too cannot be overwritten by the sum. */
    static const char *const own[] = { "plain >", "nhwc acdb>acdb", "blocked aBcd16b>aBcd16b",
                                       NULL };
    check_variants("x: 1x16x4x4; w = 16x16x1x1; y = Conv(x, w); z = Add(y, x)", true, 1, own);
    /* Pad alone in three layouts; merged with what follows it, as that alone. */
    static const char *const pad[] = { "plain >", "nhwc acdb>acdb", "blocked aBcd16b>aBcd16b",
                                       NULL };
    check_variants("x: 1x32x4x4; p = [0,0,1,1,0,0,1,1]; y = Pad(x, p)", true, 1, pad);
    check_variants(
        "x: 1x32x4x4; p = [0,0,1,1,0,0,1,1]; w = 32x1x3x3; y = Pad(x, p); z = Conv(y, w) "
        "group=32",
        true, 1, pad);
    /* Channels that do not fill their blocks would be padded with the value. */
    static const char *const value[] = { "plain >", "nhwc acdb>acdb", NULL };
    check_variants("x: 1x17x4x4; p = [0,0,1,1,0,0,1,1]; v = (1); y = Pad(x, p, v)", true, 1, value);
    /* small ones also on one thread of several */
    static const char *const twice[] = { "plain >", "plain/1t >", NULL };
    check_variants("x: 5x32; y = Softmax(x)", true, 2, twice);
    static const char *const once[] = { "plain >", NULL };
    check_variants("x: 500x320; y = Softmax(x)", true, 2, once);
}

static void test_patterns_are_well_formed(void **state)
{
    (void)state;
    const collage_backend_api *api = plugin();
    assert_true(api->pattern_count > 0);
    for (size_t k = 0; k < api->pattern_count; k++) {
        struct pattern *pattern = NULL;
        struct error error = { 0 };
        if (pattern_parse(api->patterns[k].name, api->patterns[k].text, &pattern, &error) !=
            COLLAGE_OK)
            fail_msg("%s", error.text);
        pattern_destroy(pattern);
    }
}

static void test_says_that_the_library_is_missing(void **state)
{
    (void)state;
    const collage_backend_api *api = plugin();
    collage_backend *backend = NULL;
    collage_message message = { "" };
    setenv("COLLAGE_ONEDNN_LIBRARY", "/nonexistent/libdnnl.so", 1);
    assert_int_equal(api->open(NULL, &target, &backend, &message), COLLAGE_ERROR_BACKEND);
    assert_null(backend);
    assert_non_null(strstr(message.text, "/nonexistent/libdnnl.so"));
    setenv("COLLAGE_ONEDNN_LIBRARY", "libm.so.6", 1); /* a library, but another */
    assert_int_equal(api->open(NULL, &target, &backend, &message), COLLAGE_ERROR_BACKEND);
    assert_non_null(strstr(message.text, "libm.so.6 has no dnnl_"));
    unsetenv("COLLAGE_ONEDNN_LIBRARY");
}

/* ---- kernels ---- */

struct opened {
    const collage_backend_api *api;
    collage_backend *backend;
    struct case_graph made;
    struct region region;
    const collage_subgraph *subgraph;
};

static void open_with(struct opened *opened, const char *text)
{
    collage_message message = { "" };
    opened->api = plugin();
    if (opened->api->open(NULL, &target, &opened->backend, &message) != COLLAGE_OK)
        fail_msg("%s", message.text);
    opened->subgraph = make(text, 0, &opened->made, &opened->region);
}

static void close_all(struct opened *opened)
{
    opened->api->close(opened->backend);
    case_graph_destroy(&opened->made);
}

static collage_status compile(const struct opened *opened, const char *name, const char *tag,
                              uint32_t flags, collage_kernel **kernel, collage_message *message)
{
    collage_layout inputs[MAX_PORTS], outputs[1];
    collage_variant variant = { .struct_size = sizeof variant,
                                .inputs = inputs,
                                .outputs = outputs };
    snprintf(variant.name, sizeof variant.name, "%s", name);
    for (int k = 0; k < MAX_PORTS; k++)
        snprintf(inputs[k].tag, sizeof inputs[k].tag, "%s", tag);
    outputs[0] = inputs[0];
    collage_compile_request request = { .struct_size = sizeof request,
                                        .subgraph = opened->subgraph,
                                        .variant = &variant,
                                        .target = &target,
                                        .flags = flags };
    return opened->api->compile(opened->backend, &request, kernel, message);
}

static void test_refuses_wrong_requests(void **state)
{
    (void)state;
    struct opened opened;
    collage_kernel *kernel = NULL;
    collage_message message = { "" };
    open_with(&opened, "x: 1x16x4x4; w = 16x16x1x1; y = Conv(x, w)");
    assert_int_equal(compile(&opened, "plain", "acdb", 0, &kernel, &message),
                     COLLAGE_ERROR_ARGUMENT);
    assert_int_equal(compile(&opened, "sideways", "", 0, &kernel, &message),
                     COLLAGE_ERROR_UNSUPPORTED);
    assert_non_null(strstr(message.text, "sideways"));
    assert_int_equal(compile(&opened, "plain", "", COLLAGE_COMPILE_STANDALONE, &kernel, &message),
                     COLLAGE_ERROR_UNSUPPORTED);
    assert_null(kernel);
    close_all(&opened);
    open_with(&opened, "x: 1x16x4x4; y = Identity(x)");
    assert_int_equal(compile(&opened, "plain", "!private", 0, &kernel, &message),
                     COLLAGE_ERROR_UNSUPPORTED);
    assert_non_null(strstr(message.text, "!private"));
    assert_int_equal(compile(&opened, "plain", "aacd", 0, &kernel, &message),
                     COLLAGE_ERROR_UNSUPPORTED);
    close_all(&opened);
}

static size_t heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void test_shares_packed_weights(void **state)
{
    (void)state;
    enum { KERNELS = 3, WEIGHTS = 1024 * 1024 * 4 };
    struct opened opened;
    collage_kernel *kernels[KERNELS];
    collage_message message = { "" };
    collage_kernel_info info = { .struct_size = sizeof info };
    size_t heap[KERNELS + 1];
    static const uint32_t flags[KERNELS] = { 0, 0, COLLAGE_COMPILE_UNSHARED };
    open_with(&opened, "x: 4x1024; w = 1024x1024; y = MatMul(x, w)");
    heap[0] = heap_bytes();
    for (int k = 0; k < KERNELS; k++) {
        assert_int_equal(compile(&opened, "inner_product", "", flags[k], &kernels[k], &message),
                         COLLAGE_OK);
        opened.api->kernel_info(kernels[k], &info);
        assert_true(info.weight_bytes >= WEIGHTS);
        heap[k + 1] = heap_bytes();
    }
    if (HEAP_IS_OURS) {
        assert_true(heap[1] - heap[0] >= WEIGHTS);
        assert_true(heap[2] - heap[1] < WEIGHTS / 2);
        assert_true(heap[3] - heap[2] >= WEIGHTS);
    }
    for (int k = 0; k < KERNELS; k++)
        opened.api->kernel_destroy(kernels[k]);
    if (HEAP_IS_OURS)
        assert_true(heap_bytes() < heap[0] + WEIGHTS / 2);
    close_all(&opened);
}

/* ---- several threads ---- */

struct job {
    const struct opened *opened;
    double worst;
};

static void *compile_and_run(void *argument)
{
    struct job *job = argument;
    const struct opened *opened = job->opened;
    const struct tensor *input = &opened->made.tensors[opened->region.inputs[0]];
    const struct tensor *expected = &opened->made.tensors[opened->region.outputs[0]];
    struct tensor actual = *expected;
    collage_message message = { "" };
    collage_kernel_info info = { .struct_size = sizeof info };
    job->worst = 1e9;
    actual.data = memory_alloc_aligned(tensor_bytes(&actual));
    for (int round = 0; round < 5 && actual.data; round++) {
        collage_kernel *kernel = NULL;
        if (compile(opened, "inner_product", "", 0, &kernel, &message) != COLLAGE_OK)
            break;
        opened->api->kernel_info(kernel, &info);
        void *scratch = memory_alloc_aligned(info.scratch_bytes + 1);
        const void *inputs[] = { input->data };
        void *outputs[] = { actual.data };
        if (scratch &&
            opened->api->run(kernel, NULL, inputs, outputs, scratch, &message) == COLLAGE_OK)
            job->worst = tensor_compare(&actual, expected).error;
        memory_free_aligned(scratch);
        opened->api->kernel_destroy(kernel);
    }
    memory_free_aligned(actual.data);
    return NULL;
}

static void test_compiles_in_several_threads(void **state)
{
    (void)state;
    enum { JOBS = 3 };
    struct opened opened;
    struct job jobs[JOBS];
    pthread_t threads[JOBS];
    open_with(&opened, "x: 4x128; w = 128x64; b = 64; y = MatMul(x, w); z = Add(y, b)");
    for (int k = 0; k < JOBS; k++) {
        jobs[k].opened = &opened;
        assert_int_equal(pthread_create(&threads[k], NULL, compile_and_run, &jobs[k]), 0);
    }
    for (int k = 0; k < JOBS; k++) {
        pthread_join(threads[k], NULL);
        assert_true(jobs[k].worst <= TENSOR_KERNEL_TOLERANCE);
    }
    close_all(&opened);
}

static void test_states_its_version(void **state)
{
    (void)state;
    struct opened opened;
    open_with(&opened, "x: 4; y = Relu(x)");
    assert_memory_equal(opened.api->version(opened.backend), "3.", 2);
    close_all(&opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refuses_with_a_reason),
        cmocka_unit_test(test_offers_variants),
        cmocka_unit_test(test_patterns_are_well_formed),
        cmocka_unit_test(test_says_that_the_library_is_missing),
        cmocka_unit_test(test_states_its_version),
        cmocka_unit_test(test_refuses_wrong_requests),
        cmocka_unit_test(test_shares_packed_weights),
        cmocka_unit_test(test_compiles_in_several_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
