/* SPDX-License-Identifier: Apache-2.0 */
/* test_hostile.c: every operator with random types, shapes, attributes and small integer inputs,
 * most of them wrong. Infer must refuse with a message or give a shape that can be computed;
 * nothing may crash (the sanitizer build watches). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "call_op.h"

static const struct {
    const char *op, *name;
    collage_attribute_kind kind;
} attributes[] = {
#define ATTRIBUTE(op, name, kind) { #op, #name, COLLAGE_ATTRIBUTE_##kind },
#include "ops/attributes.def"
#undef ATTRIBUTE
};
enum {
    ATTRIBUTE_COUNT = sizeof attributes / sizeof attributes[0],
    TRIALS = 2000,
    LISTED = 8,
    LARGEST = 3000 /* elements of a tensor that is computed */
};

static uint64_t random_state;
static bool mild; /* half of the trials: little is wrong, so that more is computed */

static uint64_t below(uint64_t limit)
{
    return (splitmix64(&random_state) >> 32) % limit;
}

static int64_t some_int(void)
{
    static const int64_t extreme[] = { INT64_MIN, INT64_MAX,        INT64_MIN + 1,       INT32_MAX,
                                       INT32_MIN, (int64_t)1 << 40, -((int64_t)1 << 40), 1 << 20 };
    if (mild && below(30))
        return below(4) ? 1 : (int64_t)below(3);
    return below(8) == 0 ? extreme[below(8)] : (int64_t)below(9) - 3;
}

static int64_t some_dim(void)
{
    static const int64_t odd[] = { 0, -1, INT64_MAX, INT64_MIN, (int64_t)1 << 39, 1 << 20 };
    if (mild && below(50))
        return 1 + (int64_t)below(2);
    return below(25) == 0 ? odd[below(6)] : 1 + (int64_t)below(4);
}

static const char *some_string(void)
{
    static const char *const strings[] = { "SAME_UPPER", "SAME_LOWER",    "VALID",    "reflect",
                                           "edge",       "wrap",          "linear",   "cubic",
                                           "asymmetric", "align_corners", "CRD",      "tanh",
                                           "reverse",    "bidirectional", "nonsense", "" };
    return strings[below(sizeof strings / sizeof strings[0])];
}

/* Memory of one trial's attributes. */
struct lists {
    collage_attribute attributes[16];
    int64_t ints[16][LISTED];
    uint32_t count;
};

static void add_attribute(struct lists *lists, size_t row)
{
    collage_attribute *a = &lists->attributes[lists->count];
    int64_t *ints = lists->ints[lists->count++];
    *a = (collage_attribute){ .name = attributes[row].name, .kind = attributes[row].kind };
    if (below(40) == 0)
        a->kind = (collage_attribute_kind)(1 + below(5));
    a->i = some_int();
    a->f = (float)some_int() / 2;
    a->s = some_string();
    a->count = a->kind == COLLAGE_ATTRIBUTE_STRING ? (uint32_t)strlen(a->s)
               : mild                              ? 1 + (uint32_t)below(2)
                                                   : (uint32_t)below(6);
    if (a->kind == COLLAGE_ATTRIBUTE_FLOATS)
        a->count = 0;
    for (int k = 0; k < LISTED; k++)
        ints[k] = some_int();
    a->ints = ints;
}

static void make_attributes(const struct op *op, struct lists *lists)
{
    lists->count = 0;
    for (size_t k = 0; k < ATTRIBUTE_COUNT; k++)
        if (strcmp(attributes[k].op, op->name) == 0 && (mild ? below(4) == 0 : below(3) != 0))
            add_attribute(lists, k);
}

/* How many elements a list that goes with `first` could have. */
static int64_t fitting_count(const struct tensor *first)
{
    switch (below(4)) {
    case 0:
        return first->rank > 1 && first->dims[1] > 0 && first->dims[1] < 8 ? first->dims[1] : 1;
    case 1:
        return first->rank;
    case 2:
        return 2 * (int64_t)first->rank;
    default:
        return 1 + (int64_t)below(3);
    }
}

static void make_input(struct tensor *input, const struct tensor *first, uint32_t k)
{
    static const collage_dtype dtypes[] = { COLLAGE_FLOAT32, COLLAGE_INT64,  COLLAGE_BOOL,
                                            COLLAGE_FLOAT16, COLLAGE_UINT64, COLLAGE_INT8 };
    *input = (struct tensor){ .dtype = below(mild ? 20 : 2) ? COLLAGE_FLOAT32 : dtypes[below(6)] };
    if (k > 0 && below(2)) {
        *input = *first;
        input->data = NULL;
        if (input->rank > 0 && below(2))
            input->dims[below((uint64_t)input->rank)] = some_dim();
    } else {
        input->rank = (int32_t)(mild ? 3 + below(2) : below(6));
        for (int32_t d = 0; d < input->rank; d++)
            input->dims[d] = some_dim();
    }
    if (mild && k == 0 && below(6) == 0)
        input->dtype = dtypes[below(6)];
    if (k > 0 && below(mild ? 2 : 3) == 0) { /* a list */
        input->dtype = below(mild ? 2 : 5) ? COLLAGE_INT64 : first->dtype;
        input->rank = (int32_t)below(mild ? 4 : 2) ? 1 : 0;
        input->dims[0] = mild ? fitting_count(first) : (int64_t)below(6);
    }
    uint64_t bytes;
    if (!tensor_check_size(input, &bytes) || tensor_elements(input) > LARGEST)
        return;
    input->data = memory_alloc_aligned((size_t)bytes);
    for (int64_t i = 0; i < tensor_elements(input); i++)
        if (dtype_is_float(input->dtype))
            tensor_set(input, i, (double)some_int());
        else
            tensor_set_int(input, i, some_int());
}

/* Small enough, and all data there. */
static bool can_compute(const struct op_test *test)
{
    for (uint32_t k = 0; k < test->input_count; k++)
        if (test->inputs[k].dtype != COLLAGE_UNDEFINED && !test->inputs[k].data)
            return false;
    for (uint32_t k = 0; k < test->output_count; k++)
        if (tensor_elements(&test->outputs[k]) > LARGEST)
            return false;
    return true;
}

/* True if it was computed. */
static bool try(const struct op *op)
{
    struct lists lists;
    struct op_test test = { .op = op->name };
    make_attributes(op, &lists);
    test.attributes = lists.attributes;
    test.attribute_count = lists.count;
    int32_t most = op->max_inputs < 0 ? 3 : op->max_inputs;
    test.input_count = (uint32_t)below((uint64_t)most + 1);
    if (test.input_count < (uint32_t)op->min_inputs && below(8))
        test.input_count = (uint32_t)op->min_inputs;
    test.output_count = op->max_outputs == 1 ? 1 : 1 + (uint32_t)below(3);
    for (uint32_t k = 0; k < test.input_count; k++)
        if (k < (uint32_t)op->min_inputs || below(4))
            make_input(&test.inputs[k], &test.inputs[0], k);
    collage_status status = op_test_run(&test, false);
    assert_true((status == COLLAGE_OK) == (test.error.text[0] == '\0'));
    bool computed = status == COLLAGE_OK && can_compute(&test);
    if (computed)
        op_test_run(&test, true);
    op_test_free(&test);
    for (uint32_t k = 0; k < test.input_count; k++)
        memory_free_aligned(test.inputs[k].data);
    return computed;
}

static void test_all(void **state)
{
    (void)state;
    for (size_t k = 0; k < op_count(); k++) {
        int computed = 0;
        random_state = k;
        for (int trial = 0; trial < TRIALS; trial++) {
            mild = trial % 2;
            computed += try(op_at(k));
        }
        print_message("%s: %d of %d computed\n", op_at(k)->name, computed, TRIALS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_all) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
