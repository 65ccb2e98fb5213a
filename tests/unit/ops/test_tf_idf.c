/* SPDX-License-Identifier: Apache-2.0 */
/* test_tf_idf.c: TfIdfVectorizer on the examples of its specification, and what it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trap.h"

/* clang-format off */
#define MODE(name)      STRING_ATTRIBUTE("mode", name)
#define LENGTHS(least, most) \
    INT_ATTRIBUTE("min_gram_length", least), INT_ATTRIBUTE("max_gram_length", most)
#define SKIPS(count)    INT_ATTRIBUTE("max_skip_count", count)
#define STARTS(...)     INTS_ATTRIBUTE("ngram_counts", __VA_ARGS__)
#define COLUMNS(...)    INTS_ATTRIBUTE("ngram_indexes", __VA_ARGS__)
#define POOL(...)       INTS_ATTRIBUTE("pool_int64s", __VA_ARGS__)
#define WEIGHTS(a, b)                                                                              \
    {                                                                                              \
        .name = "weights", .kind = COLLAGE_ATTRIBUTE_FLOATS,                                       \
        .floats = (const float[]){ a, b }, .count = 2                                              \
    }

/* What ONNX's own examples use: unigrams 2 3 5 4, bigrams 5 6, 7 8, 6 7. */
#define EXAMPLE STARTS(0, 4), COLUMNS(0, 1, 2, 3, 4, 5, 6), POOL(2, 3, 5, 4, 5, 6, 7, 8, 6, 7)
#define WORDS { I64, 1, { 12 }, LONGS(1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8) }
#define OP "TfIdfVectorizer"

static const struct trap counts[] = {
    { "bigrams side by side", OP, { WORDS }, 1,
      { MODE("TF"), LENGTHS(2, 2), SKIPS(0), EXAMPLE },
      DIMS(7), VALUES(0, 0, 0, 0, 1, 1, 1), NULL, 1 },
    { "bigrams up to 5 apart", OP, { WORDS }, 1,
      { MODE("TF"), LENGTHS(2, 2), SKIPS(5), EXAMPLE },
      DIMS(7), VALUES(0, 0, 0, 0, 1, 3, 1), NULL, 1 },
    { "unigrams count once, whatever the skips", OP, { WORDS }, 1,
      { MODE("TF"), LENGTHS(1, 2), SKIPS(5), EXAMPLE },
      DIMS(7), VALUES(0, 3, 1, 0, 1, 3, 1), NULL, 1 },
    { "rows", OP,
      { { COLLAGE_INT32, 2, { 2, 6 }, (int32_t[]){ 1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8 } } }, 1,
      { MODE("TF"), LENGTHS(1, 2), SKIPS(5), EXAMPLE },
      DIMS(2, 7), VALUES(0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1), NULL, 1 },
    { "columns in another order", OP, { { I64, 1, { 5 }, LONGS(94, 17, 94, 17, 36) } }, 1,
      { MODE("TF"), LENGTHS(2, 2), SKIPS(0), STARTS(0, 0), COLUMNS(1, 0), POOL(94, 17, 17, 36) },
      DIMS(2), VALUES(1, 2), NULL, 1 },
    { "two n-grams in one column, a column of none", OP, { { I64, 1, { 3 }, LONGS(1, 3, 1) } }, 1,
      { MODE("TF"), LENGTHS(1, 1), SKIPS(0), STARTS(0), COLUMNS(2, 2), POOL(1, 3) },
      DIMS(3), VALUES(0, 0, 3), NULL, 1 },
    { "fewer words than an n-gram has", OP, { { I64, 1, { 1 }, LONGS(5) } }, 1,
      { MODE("TF"), LENGTHS(2, 2), SKIPS(INT64_MAX), EXAMPLE },
      DIMS(7), VALUES(0, 0, 0, 0, 0, 0, 0), NULL, 1 },
    { "no words", OP, { { I64, 2, { 1, 0 }, NULL } }, 1,
      { MODE("TF"), LENGTHS(1, 2), SKIPS(0), EXAMPLE },
      DIMS(1, 7), VALUES(0, 0, 0, 0, 0, 0, 0), NULL, 1 },
};

#define TWO STARTS(0), COLUMNS(0, 1), POOL(1, 3)
#define TURNED STARTS(0), COLUMNS(1, 0), POOL(1, 3)
#define FEW_WORDS { I64, 1, { 4 }, LONGS(1, 1, 3, 7) }

static const struct trap weights[] = {
    { "TF leaves weights alone", OP, { FEW_WORDS }, 1,
      { MODE("TF"), LENGTHS(1, 1), SKIPS(0), TWO, WEIGHTS(2, 0.5f) },
      DIMS(2), VALUES(2, 1), NULL, 1 },
    { "IDF", OP, { FEW_WORDS }, 1,
      { MODE("IDF"), LENGTHS(1, 1), SKIPS(0), TWO, WEIGHTS(2, 0.5f) },
      DIMS(2), VALUES(2, 0.5), NULL, 1 },
    { "TFIDF", OP, { FEW_WORDS }, 1,
      { MODE("TFIDF"), LENGTHS(1, 1), SKIPS(0), TWO, WEIGHTS(2, 0.5f) },
      DIMS(2), VALUES(4, 0.5), NULL, 1 },
    { "IDF without weights", OP, { FEW_WORDS }, 1,
      { MODE("IDF"), LENGTHS(1, 1), SKIPS(0), TWO },
      DIMS(2), VALUES(1, 1), NULL, 1 },
    { "columns turned, equal weights", OP, { FEW_WORDS }, 1,
      { MODE("TFIDF"), LENGTHS(1, 1), SKIPS(0), TURNED, WEIGHTS(3, 3) },
      DIMS(2), VALUES(3, 6), NULL, 1 },
    { "columns turned, other weights: of which is not clear", OP, { FEW_WORDS }, 1,
      { MODE("TFIDF"), LENGTHS(1, 1), SKIPS(0), TURNED, WEIGHTS(2, 0.5f) },
      NULL, 0, NULL, "another order", 1 },
};

static const struct trap refusals[] = {
    { "no pool", OP, { WORDS }, 1, { MODE("TF"), LENGTHS(1, 1), SKIPS(0), STARTS(0), COLUMNS(0) },
      NULL, 0, NULL, "'pool_int64s' is missing", 1 },
    { "a pool of strings", OP, { WORDS }, 1,
      { MODE("TF"), LENGTHS(1, 1), SKIPS(0), TWO, STRING_ATTRIBUTE("pool_strings", "a") },
      NULL, 0, NULL, "'pool_strings' is not supported", 1 },
    { "no integers", OP, { { F32, 1, { 2 }, FLOATS(1, 2) } }, 1,
      { MODE("TF"), LENGTHS(1, 1), SKIPS(0), TWO },
      NULL, 0, NULL, "must be of type int64 or int32, not float32", 1 },
    { "a scalar", OP, { { I64, 0, { 0 }, LONGS(1) } }, 1,
      { MODE("TF"), LENGTHS(1, 1), SKIPS(0), TWO }, NULL, 0, NULL, "rank 0", 1 },
    { "an odd number of words for bigrams", OP, { WORDS }, 1,
      { MODE("TF"), LENGTHS(1, 2), SKIPS(0), STARTS(0, 1), COLUMNS(0, 1), POOL(1, 2, 3, 4) },
      NULL, 0, NULL, "into 2-grams", 1 },
    { "starts beyond the pool", OP, { WORDS }, 1,
      { MODE("TF"), LENGTHS(1, 2), SKIPS(0), STARTS(0, 9), COLUMNS(0, 1), POOL(1, 2) },
      NULL, 0, NULL, "into 1-grams", 1 },
    { "starts that do not begin with 0", OP, { WORDS }, 1,
      { MODE("TF"), LENGTHS(1, 1), SKIPS(0), STARTS(1), COLUMNS(0), POOL(1, 2) },
      NULL, 0, NULL, "does not begin with 0", 1 },
    { "too few columns", OP, { WORDS }, 1,
      { MODE("TF"), LENGTHS(1, 1), SKIPS(0), STARTS(0), COLUMNS(0), POOL(1, 2) },
      NULL, 0, NULL, "1 ngram_indexes for 2 n-grams", 1 },
    { "a negative column", OP, { WORDS }, 1,
      { MODE("TF"), LENGTHS(1, 1), SKIPS(0), STARTS(0), COLUMNS(0, -1), POOL(1, 2) },
      NULL, 0, NULL, "ngram_indexes has -1", 1 },
    { "longer than the pool's", OP, { WORDS }, 1, { MODE("TF"), LENGTHS(1, 2), SKIPS(0), TWO },
      NULL, 0, NULL, "do not fit the 1 ngram_counts", 1 },
    { "no skips named", OP, { WORDS }, 1, { MODE("TF"), LENGTHS(1, 1), TWO },
      NULL, 0, NULL, "max_skip_count", 1 },
    { "another mode", OP, { WORDS }, 1, { MODE("TFI"), LENGTHS(1, 1), SKIPS(0), TWO },
      NULL, 0, NULL, "mode 'TFI'", 1 },
};
/* clang-format on */

static void test_counts(void **state)
{
    (void)state;
    TRAP_CHECK(counts);
}

static void test_weights(void **state)
{
    (void)state;
    TRAP_CHECK(weights);
}

static void test_refusals(void **state)
{
    (void)state;
    TRAP_CHECK(refusals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
