/* SPDX-License-Identifier: Apache-2.0 */
/* tf_idf.c: TfIdfVectorizer of integers: how often the n-grams of a pool occur in each row. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "ops/call.h"

struct vectorizer {
    const collage_attribute *pool;    /* the n-grams, one after the other, the short ones first */
    const collage_attribute *starts;  /* in the pool: of the 1-grams, the 2-grams and so on */
    const collage_attribute *columns; /* of each n-gram: where it is counted */
    const float *weights;             /* of each n-gram; NULL: 1 */
    int64_t shortest, longest, skips;
    int64_t width;    /* of the output */
    bool counts_once; /* however often an n-gram occurs */
};

/* ---- attributes ---- */

static collage_status need(const struct op_call *call, const char *name,
                           collage_attribute_kind kind, const collage_attribute **out,
                           struct error *error)
{
    *out = collage_node_attribute(call->node, name, kind);
    return *out ? COLLAGE_OK : shape_error(error, "attribute '%s' is missing", name);
}

static collage_status read_lengths(const struct op_call *call, struct vectorizer *v,
                                   struct error *error)
{
    v->shortest = collage_node_int(call->node, "min_gram_length", 0);
    v->longest = collage_node_int(call->node, "max_gram_length", 0);
    v->skips = collage_node_int(call->node, "max_skip_count", -1);
    if (v->shortest < 1 || v->longest < v->shortest || v->longest > v->starts->count)
        return shape_error(error,
                           "min_gram_length %" PRId64 " and max_gram_length %" PRId64
                           " do not fit the %" PRIu32 " ngram_counts",
                           v->shortest, v->longest, v->starts->count);
    if (v->skips < 0)
        return shape_error(error, "max_skip_count is missing or negative");
    return COLLAGE_OK;
}

/* Where the n-grams of n + 1 items end in the pool. */
static int64_t section_end(const struct vectorizer *v, uint32_t n)
{
    return n + 1 < v->starts->count ? v->starts->ints[n + 1] : (int64_t)v->pool->count;
}

static collage_status check_pool(const struct vectorizer *v, struct error *error)
{
    int64_t grams = 0, from = 0;
    if (v->starts->ints[0] != 0)
        return shape_error(error, "ngram_counts does not begin with 0");
    for (uint32_t n = 0; n < v->starts->count; n++) {
        int64_t end = section_end(v, n);
        if (end < from || end > (int64_t)v->pool->count || (end - from) % ((int64_t)n + 1) != 0)
            return shape_error(
                error, "ngram_counts does not divide the pool into %" PRIu32 "-grams", n + 1);
        grams += (end - from) / ((int64_t)n + 1);
        from = end;
    }
    if (grams != (int64_t)v->columns->count)
        return shape_error(error, "%" PRIu32 " ngram_indexes for %" PRId64 " n-grams",
                           v->columns->count, grams);
    return COLLAGE_OK;
}

static collage_status read_columns(struct vectorizer *v, struct error *error)
{
    v->width = 0;
    for (uint32_t g = 0; g < v->columns->count; g++) {
        int64_t column = v->columns->ints[g];
        if (column < 0 || column >= INT32_MAX)
            return shape_error(error, "ngram_indexes has %" PRId64, column);
        v->width = column >= v->width ? column + 1 : v->width;
    }
    return COLLAGE_OK;
}

/* ONNX says that there is a weight for each n-gram, its implementations take one for each column:
 * only where that is the same is it clear what is meant. */
static collage_status read_weights(const struct op_call *call, struct vectorizer *v,
                                   struct error *error)
{
    const char *mode = collage_node_string(call->node, "mode", "");
    bool weighted = strcmp(mode, "TF") != 0;
    if (weighted && strcmp(mode, "IDF") != 0 && strcmp(mode, "TFIDF") != 0)
        return shape_error(error, "mode '%.20s' is none of TF, IDF, TFIDF", mode);
    const collage_attribute *weights =
        collage_node_attribute(call->node, "weights", COLLAGE_ATTRIBUTE_FLOATS);
    v->counts_once = strcmp(mode, "IDF") == 0;
    if (!weighted || !weights || weights->count == 0)
        return COLLAGE_OK;
    if (weights->count != v->columns->count)
        return shape_error(error, "%" PRIu32 " weights for %" PRIu32 " n-grams", weights->count,
                           v->columns->count);
    for (uint32_t g = 0; g < weights->count; g++) {
        int64_t column = v->columns->ints[g];
        if (column >= (int64_t)weights->count || weights->floats[column] != weights->floats[g])
            return shape_error(error, "weights that ngram_indexes puts into another order are not "
                                      "supported");
    }
    v->weights = weights->floats;
    return COLLAGE_OK;
}

static collage_status read(const struct op_call *call, struct vectorizer *v, struct error *error)
{
    *v = (struct vectorizer){ 0 };
    collage_status status = need(call, "pool_int64s", COLLAGE_ATTRIBUTE_INTS, &v->pool, error);
    if (status == COLLAGE_OK)
        status = need(call, "ngram_counts", COLLAGE_ATTRIBUTE_INTS, &v->starts, error);
    if (status == COLLAGE_OK)
        status = need(call, "ngram_indexes", COLLAGE_ATTRIBUTE_INTS, &v->columns, error);
    if (status == COLLAGE_OK && (v->starts->count == 0 || v->columns->count == 0))
        status = shape_error(error, "ngram_counts or ngram_indexes is empty");
    if (status == COLLAGE_OK)
        status = read_lengths(call, v, error);
    if (status == COLLAGE_OK)
        status = check_pool(v, error);
    if (status == COLLAGE_OK)
        status = read_columns(v, error);
    return status == COLLAGE_OK ? read_weights(call, v, error) : status;
}

collage_status infer_tf_idf(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct vectorizer v;
    if (x->dtype != COLLAGE_INT64 && x->dtype != COLLAGE_INT32)
        return shape_error(error, "input 0 must be of type int64 or int32, not %s",
                           dtype_name(x->dtype));
    if (x->rank != 1 && x->rank != 2)
        return shape_error(error, "rank %d is neither 1 nor 2", (int)x->rank);
    collage_status status = read(call, &v, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor y = *x;
    y.dims[y.rank - 1] = v.width;
    call_set_output(call, 0, COLLAGE_FLOAT32, &y);
    return COLLAGE_OK;
}

/* ---- computing ---- */

/* A row of the input. */
struct row {
    const struct tensor *x;
    int64_t start, length;
};

/* How often the n items of the n-gram stand in the row, at equal distances: up to `skips` others
 * lie between two of them. */
static int64_t count_gram(const struct row *row, const int64_t *gram, int64_t n, int64_t skips)
{
    int64_t found = 0, distances = n == 1 ? 1 : (row->length - 1) / (n - 1);
    if (distances - 1 > skips)
        distances = skips + 1;
    for (int64_t distance = 1; distance <= distances; distance++)
        for (int64_t first = 0; first + (n - 1) * distance < row->length; first++) {
            int64_t k = 0;
            while (k < n && tensor_get_int(row->x, row->start + first + k * distance) == gram[k])
                k++;
            found += k == n ? 1 : 0;
        }
    return found;
}

static void count_row(const struct vectorizer *v, const struct row *row, int64_t *counts)
{
    int64_t from = 0, g = 0;
    for (uint32_t n = 0; n < v->starts->count; n++) {
        int64_t length = (int64_t)n + 1, end = section_end(v, n);
        bool is_wanted = length >= v->shortest && length <= v->longest;
        for (; from < end; from += length, g++)
            if (is_wanted)
                counts[v->columns->ints[g]] +=
                    count_gram(row, v->pool->ints + from, length, v->skips);
    }
}

collage_status compute_tf_idf(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct tensor *y = &call->outputs[0];
    struct vectorizer v;
    collage_status status = read(call, &v, error);
    if (status != COLLAGE_OK || tensor_elements(y) == 0)
        return status;
    int64_t rows = x->rank == 2 ? x->dims[0] : 1, length = x->dims[x->rank - 1];
    int64_t *counts = memory_alloc((size_t)v.width * sizeof *counts);
    if (!counts)
        return error_memory(error);
    for (int64_t r = 0; r < rows; r++) {
        const struct row row = { x, r * length, length };
        memset(counts, 0, (size_t)v.width * sizeof *counts);
        count_row(&v, &row, counts);
        for (int64_t c = 0; c < v.width; c++) {
            double count = v.counts_once && counts[c] > 1 ? 1 : (double)counts[c];
            tensor_set(y, r * v.width + c,
                       v.weights && count > 0 ? count * (double)v.weights[c] : count);
        }
    }
    memory_free(counts);
    return COLLAGE_OK;
}
