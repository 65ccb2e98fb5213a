/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "tensor/layout.h"
#include "tensor/npy.h"

/* ---- element types ---- */

static double through(collage_dtype dtype, double value)
{
    uint64_t room = 0;
    struct tensor tensor = { .dtype = dtype, .data = &room };
    tensor_set(&tensor, 0, value);
    return tensor_get(&tensor, 0);
}

static void test_small_floats(void **state)
{
    (void)state;
    assert_true(through(COLLAGE_FLOAT16, 65504) == 65504);
    assert_true(isinf(through(COLLAGE_FLOAT16, 65520)));
    assert_true(through(COLLAGE_FLOAT16, 65519.9) == 65504);
    assert_true(through(COLLAGE_FLOAT16, 2049) == 2048); /* to even */
    assert_true(through(COLLAGE_FLOAT16, 2051) == 2052);
    assert_true(through(COLLAGE_FLOAT16, 0x1p-24) == 0x1p-24); /* the least subnormal */
    assert_true(through(COLLAGE_FLOAT16, 0x1p-25) == 0);
    assert_true(through(COLLAGE_FLOAT16, 0x1.8p-25) == 0x1p-24);
    assert_true(through(COLLAGE_FLOAT16, 0x1.ff8p-15) == 0x1.ff8p-15); /* the greatest subnormal */
    assert_true(signbit(through(COLLAGE_FLOAT16, -0.0)));
    assert_true(isnan(through(COLLAGE_FLOAT16, (double)NAN)));
    assert_true(through(COLLAGE_BFLOAT16, 257) == 256);
    assert_true(through(COLLAGE_BFLOAT16, 259) == 260);
    assert_true(isinf(through(COLLAGE_BFLOAT16, 3.4e38 * 1.01)));
    assert_true(isnan(through(COLLAGE_BFLOAT16, (double)NAN)));
    for (int bits = 0; bits < 65536; bits++) { /* every value survives being read and written */
        uint16_t from = (uint16_t)bits, to = 0;
        struct tensor a = { .dtype = COLLAGE_FLOAT16, .data = &from };
        struct tensor b = { .dtype = COLLAGE_FLOAT16, .data = &to };
        tensor_set(&b, 0, tensor_get(&a, 0));
        if (!isnan(tensor_get(&a, 0)))
            assert_int_equal(from, to);
        a.dtype = b.dtype = COLLAGE_BFLOAT16;
        tensor_set(&b, 0, tensor_get(&a, 0));
        if (!isnan(tensor_get(&a, 0)))
            assert_int_equal(from, to);
    }
}

static void test_integers(void **state)
{
    (void)state;
    assert_true(through(COLLAGE_INT8, 300) == 127);
    assert_true(through(COLLAGE_INT8, -3.9) == -3);
    assert_true(through(COLLAGE_UINT8, -1) == 0);
    assert_true(through(COLLAGE_INT64, 1e300) == 0x1p63);
    assert_true(through(COLLAGE_UINT64, 0x1p63) == 0x1p63);
    assert_true(through(COLLAGE_INT32, (double)NAN) == 0);
    assert_true(through(COLLAGE_BOOL, 0.25) == 1);
    int64_t exact = INT64_MAX - 1, copy = 0;
    struct tensor from = { .dtype = COLLAGE_INT64, .data = &exact };
    struct tensor to = { .dtype = COLLAGE_INT64, .data = &copy };
    tensor_set_int(&to, 0, tensor_get_int(&from, 0));
    assert_true(copy == exact);
    uint8_t wrapped = 0;
    struct tensor byte = { .dtype = COLLAGE_UINT8, .data = &wrapped };
    tensor_set_int(&byte, 0, -1);
    assert_int_equal(wrapped, 255);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(dtype_name(COLLAGE_BFLOAT16), "bfloat16");
    assert_string_equal(dtype_name((collage_dtype)99), "?");
    assert_int_equal(dtype_parse("bool"), COLLAGE_BOOL);
    assert_int_equal(dtype_parse("string"), COLLAGE_UNDEFINED);
    char text[64];
    dims_print((const int64_t[]){ 1, 3, 224, 224 }, 4, text, sizeof text);
    assert_string_equal(text, "1x3x224x224");
    dims_print(NULL, 0, text, sizeof text);
    assert_string_equal(text, "scalar");
    dims_print((const int64_t[]){ 123456, 789 }, 2, text, 8); /* cut, terminated */
    assert_string_equal(text, "123456x");
}

static void test_sizes(void **state)
{
    (void)state;
    uint64_t bytes;
    struct tensor t = { .dtype = COLLAGE_FLOAT32, .rank = 2, .dims = { 3, 5 } };
    assert_true(tensor_check_size(&t, &bytes));
    assert_int_equal(bytes, 60);
    t.dims[1] = -1;
    assert_false(tensor_check_size(&t, &bytes));
    t.dims[1] = INT64_MAX;
    assert_false(tensor_check_size(&t, &bytes));
    t.dims[0] = 0; /* empty, yet too large to compute strides with */
    assert_false(tensor_check_size(&t, &bytes));
    t.dims[1] = (int64_t)1 << 38;
    assert_true(tensor_check_size(&t, &bytes));
    assert_int_equal(bytes, 0);
    t.dims[0] = 2;
    assert_false(tensor_check_size(&t, &bytes));
    t.dtype = COLLAGE_UNDEFINED;
    assert_false(tensor_check_size(&t, &bytes));
    t.rank = 9;
    assert_false(tensor_check_size(&t, &bytes));
}

/* ---- comparison, examples ---- */

static void test_compare(void **state)
{
    (void)state;
    float a[] = { 1, -4, 2 }, e[] = { 1, -4, 2.5f };
    struct tensor actual = { COLLAGE_FLOAT32, 1, { 3 }, a }, expected = actual;
    expected.data = e;
    struct tensor_difference d = tensor_compare(&actual, &expected);
    assert_true(d.error == 0.125 && d.index == 2 && d.actual == 2 && d.expected == 2.5);
    a[0] = NAN;
    assert_true(isinf(tensor_compare(&actual, &expected).error));
    e[0] = NAN;
    assert_true(tensor_compare(&actual, &expected).error == 0.125);
    a[0] = INFINITY, e[0] = INFINITY;
    assert_true(tensor_compare(&actual, &expected).error == 0.125);
    e[0] = -INFINITY;
    assert_true(isinf(tensor_compare(&actual, &expected).error));
    int64_t m[] = { INT64_MAX }, n[] = { INT64_MAX - 1 };
    struct tensor im = { COLLAGE_INT64, 1, { 1 }, m }, in = { COLLAGE_INT64, 1, { 1 }, n };
    assert_true(isinf(tensor_compare(&im, &in).error));
    assert_true(tensor_compare(&im, &im).error == 0);
    in.rank = 0;
    assert_true(isinf(tensor_compare(&im, &in).error));
}

static void test_compare_within(void **state)
{
    (void)state;
    float a[] = { 1, -4, 2 }, e[] = { 1.5f, -4, 2.75f };
    struct tensor actual = { COLLAGE_FLOAT32, 1, { 3 }, a }, expected = actual;
    expected.data = e;
    assert_true(tensor_compare_within(&actual, &expected, 0).error == 0.1875);
    assert_true(tensor_compare_within(&actual, &expected, 0.5).error == 0.0625);
    assert_true(tensor_compare_within(&actual, &expected, 0.75).error == 0);
    a[0] = NAN; /* no slack makes a number of it */
    assert_true(isinf(tensor_compare_within(&actual, &expected, 100).error));
    uint8_t m[] = { 3, 200 }, n[] = { 4, 202 };
    struct tensor im = { COLLAGE_UINT8, 1, { 2 }, m }, in = { COLLAGE_UINT8, 1, { 2 }, n };
    assert_true(isinf(tensor_compare_within(&im, &in, 1).error));
    assert_true(isinf(tensor_compare_within(&im, &in, 1.9).error));
    assert_true(tensor_compare_within(&im, &in, 2).error == 0);
    assert_true(tensor_largest(&im) == 200);
    assert_true(tensor_largest(&actual) == 4);
}

static void test_example(void **state)
{
    (void)state;
    uint64_t s = 0;
    assert_true(splitmix64(&s) == 0xE220A8397B1DCDAFu); /* the published first value of seed 0 */
    float f[2];
    int64_t ids[100];
    struct tensor floats = { COLLAGE_FLOAT32, 1, { 2 }, f };
    struct tensor ints = { COLLAGE_INT64, 1, { 100 }, ids };
    tensor_fill_example(&floats, 0, 0);
    double u = (double)(0xE220A8397B1DCDAFu >> 40) * 0x1p-23 - 1;
    assert_true(f[0] == (float)(1.7320507764816284 * u));
    tensor_fill_example(&ints, 0, 7);
    assert_true(ids[0] == (int64_t)((0xE220A8397B1DCDAFu >> 40) % 7));
    for (int k = 0; k < 100; k++)
        assert_true(ids[k] >= 0 && ids[k] < 7);
}

/* ---- layouts ---- */

static void test_layout_values(void **state)
{
    (void)state;
    /* 1x3x1x2, channels blocked by 2: the fourth channel is padding. */
    float x[] = { 1, 2, 3, 4, 5, 6 }, y[8];
    memset(y, 0xff, sizeof y);
    struct tensor t = { COLLAGE_FLOAT32, 4, { 1, 3, 1, 2 }, x };
    collage_layout plain = layout_plain(), blocked = layout_tag("aBcd2b"),
                   last = layout_tag("acdb");
    assert_int_equal(layout_bytes(&blocked, &t), sizeof y);
    assert_int_equal(layout_convert(&t, &plain, y, &blocked, NULL), COLLAGE_OK);
    const float expected_blocked[] = { 1, 3, 2, 4, 5, 0, 6, 0 };
    assert_memory_equal(y, expected_blocked, sizeof y);
    assert_int_equal(layout_convert(&t, &plain, y, &last, NULL), COLLAGE_OK);
    const float expected_last[] = { 1, 3, 5, 2, 4, 6 };
    assert_memory_equal(y, expected_last, sizeof expected_last);
}

static void test_layout_two_blocks(void **state)
{
    (void)state;
    /* 8x2, rows blocked by 4 as 2 x 2 with the columns in between. */
    int16_t x[16], y[16];
    for (int16_t k = 0; k < 16; k++)
        x[k] = k;
    struct tensor t = { COLLAGE_INT16, 2, { 8, 2 }, x };
    collage_layout plain = layout_plain(), blocked = layout_tag("AB2a2b2a");
    assert_int_equal(layout_convert(&t, &plain, y, &blocked, NULL), COLLAGE_OK);
    for (int a = 0; a < 8; a++)
        for (int b = 0; b < 2; b++) {
            int at = a / 4 * 8 + a / 2 % 2 * 4 + b % 2 * 2 + a % 2;
            assert_int_equal(y[at], x[a * 2 + b]);
        }
}

static void test_layout_round_trips(void **state)
{
    (void)state;
    static const struct {
        const char *tag;
        int32_t rank;
    } cases[] = { { "ba", 2 },       { "Ab16a", 2 },       { "acb", 3 },      { "aBcd16b", 4 },
                  { "aBcd8b", 4 },   { "ABcd4b16a4b", 4 }, { "cdba", 4 },     { "aBcde16b", 5 },
                  { "abcdefgh", 8 }, { "hgfedcba", 8 },    { "AcdB3b2a", 4 }, { "aBCd4b4c", 4 } };
    static const collage_dtype dtypes[] = { COLLAGE_FLOAT32, COLLAGE_FLOAT64, COLLAGE_FLOAT16,
                                            COLLAGE_UINT8 };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (size_t d = 0; d < 4; d++) {
            struct tensor t = { .dtype = dtypes[d], .rank = cases[c].rank };
            const int64_t dims[] = { 3, 5, 2, 3, 2, 1, 2, 1 };
            memcpy(t.dims, dims, sizeof dims);
            collage_layout plain = layout_plain(), other = layout_tag(cases[c].tag);
            size_t bytes = (size_t)tensor_bytes(&t), more = (size_t)layout_bytes(&other, &t);
            assert_true(more >= bytes);
            t.data = memory_alloc_aligned(bytes);
            char *there = memory_alloc_aligned(more), *back = memory_alloc_aligned(bytes);
            for (size_t k = 0; k < bytes; k++)
                ((char *)t.data)[k] = (char)(k * 37 + k / 256);
            struct tensor from = t;
            from.data = there;
            assert_int_equal(layout_convert(&t, &plain, there, &other, NULL), COLLAGE_OK);
            assert_int_equal(layout_convert(&from, &other, back, &plain, NULL), COLLAGE_OK);
            assert_memory_equal(t.data, back, bytes);
            memory_free_aligned(t.data);
            memory_free_aligned(there);
            memory_free_aligned(back);
        }
}

static void test_layout_malformed(void **state)
{
    (void)state;
    static const char *const bad[] = { "abc",        "abcde",    "abcc",           "aBcd",
                                       "abcd16b",    "aBcd16c",  "aBcd0b",         "aBcd16",
                                       "aBcd99999b", "!private", "aBcd2b2b2b2b2b", "aB cd16b",
                                       "aBcd-1b",    "aBcd016b", "ABcd16b" };
    struct layout_form form;
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        collage_layout layout = layout_tag(bad[k]);
        if (layout_parse(&layout, 4, &form))
            fail_msg("'%s' was taken", bad[k]);
    }
    collage_layout endless, tag = layout_tag("acdb");
    memset(endless.tag, 'a', sizeof endless.tag);
    assert_false(layout_parse(&endless, 4, &form));
    struct tensor t = { COLLAGE_FLOAT32, 4, { 1, 1, 1, 1 }, NULL };
    assert_int_equal(layout_bytes(&endless, &t), 0);
    struct error error = { 0 };
    assert_int_equal(layout_convert(&t, &tag, NULL, &endless, &error), COLLAGE_ERROR_UNSUPPORTED);
    struct tensor scalar = { COLLAGE_FLOAT32, 0, { 0 }, NULL };
    collage_layout plain = layout_plain();
    assert_int_equal(layout_bytes(&plain, &scalar), 4);
    assert_int_equal(layout_bytes(&tag, &scalar), 0);
    t.dims[0] = (int64_t)1 << 38;
    collage_layout blocked = layout_tag("Abcd1000a1000a");
    assert_int_equal(layout_bytes(&blocked, &t), 0);
}

static void test_layout_equality(void **state)
{
    (void)state;
    collage_layout empty = layout_plain(), named = layout_tag("abcd"), last = layout_tag("acdb");
    assert_true(layout_is_plain(&empty) && layout_is_plain(&named) && !layout_is_plain(&last));
    assert_true(layout_equal(&empty, &named) && !layout_equal(&named, &last));
    assert_true(layout_equal(&last, &last));
}

static void test_layout_out_of_memory(void **state)
{
    (void)state;
    float x[6] = { 0 }, y[6];
    struct tensor t = { COLLAGE_FLOAT32, 2, { 2, 3 }, x };
    collage_layout plain = layout_plain(), turned = layout_tag("ba");
    for (size_t n = 1; n <= 2; n++) {
        struct error error = { 0 };
        memory_fail_after(n);
        assert_int_equal(layout_convert(&t, &plain, y, &turned, &error), COLLAGE_ERROR_MEMORY);
        memory_fail_after(0);
    }
}

/* ---- .npy ---- */

static char path[256];

static int set_up(void **state)
{
    (void)state;
    struct error error = { 0 };
    snprintf(path, sizeof path, "%s/tensor-%ld.npy", COLLAGE_TEST_DATA, (long)getpid());
    return file_make_directory(COLLAGE_TEST_DATA, &error) == COLLAGE_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static void test_npy_round_trip(void **state)
{
    (void)state;
    static const collage_dtype dtypes[] = { COLLAGE_FLOAT32, COLLAGE_UINT8,  COLLAGE_INT8,
                                            COLLAGE_UINT16,  COLLAGE_INT16,  COLLAGE_INT32,
                                            COLLAGE_INT64,   COLLAGE_BOOL,   COLLAGE_FLOAT16,
                                            COLLAGE_FLOAT64, COLLAGE_UINT32, COLLAGE_UINT64,
                                            COLLAGE_BFLOAT16 };
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
        for (int32_t rank = 0; rank <= COLLAGE_MAX_RANK; rank++) {
            unsigned char data[8 * 6];
            for (size_t k = 0; k < sizeof data; k++)
                data[k] = (unsigned char)(dtypes[d] == COLLAGE_BOOL ? k & 1 : k);
            struct tensor t = { dtypes[d], rank, { 1, 1, 1, 1, 1, 1, 1, 1 }, data }, back;
            if (rank > 0)
                t.dims[rank - 1] = 3;
            struct error error = { 0 };
            assert_int_equal(npy_write(path, &t, &error), COLLAGE_OK);
            assert_int_equal(npy_read(path, &back, &error), COLLAGE_OK);
            assert_int_equal(back.dtype, t.dtype);
            assert_true(tensor_same_shape(&back, &t));
            assert_memory_equal(back.data, t.data, (size_t)tensor_bytes(&t));
            memory_free_aligned(back.data);
        }
}

static void write_npy(const char *header, unsigned version, size_t length, size_t data_bytes)
{
    char bytes[1024] = "\x93NUMPY";
    struct error error = { 0 };
    size_t start = version > 1 ? 12 : 10, text = strlen(header);
    bytes[6] = (char)version;
    bytes[8] = (char)(length & 0xff);
    bytes[9] = (char)(length >> 8);
    memcpy(bytes + start, header, text);
    assert_int_equal(file_write(path, bytes, start + text + data_bytes, &error), COLLAGE_OK);
}

static collage_status read_back(void)
{
    struct tensor t;
    struct error error = { 0 };
    collage_status status = npy_read(path, &t, &error);
    assert_true(status == COLLAGE_OK ? t.data != NULL : t.data == NULL);
    assert_true(status == COLLAGE_OK || strstr(error.text, path));
    memory_free_aligned(t.data);
    return status;
}

static void test_npy_malformed(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t data_bytes;
        collage_status status;
    } cases[] = {
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24, COLLAGE_OK },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", 23, COLLAGE_ERROR_FORMAT },
        { "{'descr': '<f4', 'fortran_order': True, 'shape': (6,)}", 24, COLLAGE_OK },
        { "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", 24,
          COLLAGE_ERROR_UNSUPPORTED },
        { "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3)}", 24,
          COLLAGE_ERROR_UNSUPPORTED },
        { "{'descr': '|O', 'fortran_order': False, 'shape': ()}", 8, COLLAGE_ERROR_UNSUPPORTED },
        { "{'descr': '<f4', 'shape': (2, 3)}", 24, COLLAGE_ERROR_FORMAT },
        { "{'descr': '<f4', 'fortran_order': False}", 24, COLLAGE_ERROR_FORMAT },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3)}", 24, COLLAGE_ERROR_FORMAT },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3", 24, COLLAGE_ERROR_FORMAT },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,)}", 24,
          COLLAGE_ERROR_FORMAT },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 24,
          COLLAGE_ERROR_FORMAT },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", 24,
          COLLAGE_ERROR_FORMAT },
        { "", 0, COLLAGE_ERROR_UNSUPPORTED },
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        for (unsigned version = 1; version <= 3; version++) {
            write_npy(cases[k].header, version, strlen(cases[k].header), cases[k].data_bytes);
            assert_int_equal(read_back(), cases[k].status);
        }
    write_npy(cases[0].header, 4, strlen(cases[0].header), 24);
    assert_int_equal(read_back(), COLLAGE_ERROR_FORMAT);
    write_npy(cases[0].header, 1, 60000, 24); /* a header longer than the file */
    assert_int_equal(read_back(), COLLAGE_ERROR_FORMAT);
    struct error error = { 0 };
    assert_int_equal(file_write(path, "\x93NUMPY\1", 7, &error), COLLAGE_OK);
    assert_int_equal(read_back(), COLLAGE_ERROR_FORMAT);
    assert_int_equal(file_write(path, "", 0, &error), COLLAGE_OK);
    assert_int_equal(read_back(), COLLAGE_ERROR_FORMAT);
    unlink(path);
    assert_int_equal(read_back(), COLLAGE_ERROR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_floats),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_compare_within),
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_layout_values),
        cmocka_unit_test(test_layout_two_blocks),
        cmocka_unit_test(test_layout_round_trips),
        cmocka_unit_test(test_layout_malformed),
        cmocka_unit_test(test_layout_equality),
        cmocka_unit_test(test_layout_out_of_memory),
        cmocka_unit_test_setup_teardown(test_npy_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_npy_malformed, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
