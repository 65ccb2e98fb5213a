/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small model, cut at every byte, and with bits flipped ten thousand times. Each time the import
 * must refuse with one clear line, or give a graph whose canonical form computes what the graph
 * itself computes. What damage made too large is imported and canonicalised, but not run.
 */
#include "unit/onnx/model_builder.h"

#include "canon/canon.h"
#include "graph/work.h"
#include "reference/oracle.h"

enum { FLIPPED_FILES = 10000, MOST_ELEMENTS = 1 << 16, MOST_WORK = 2000000 };

enum outcome { REFUSED, VERIFIED, SKIPPED, OUTCOMES };

/* Which case is running, for messages. */
static char where[64];

/* ---- the model ---- */

static void add_floats(struct model_builder *b, const char *name, size_t rank, const int64_t *dims)
{
    float data[512];
    int64_t count = 1;
    for (size_t k = 0; k < rank; k++)
        count *= dims[k];
    assert_true(count <= 512);
    for (int64_t k = 0; k < count; k++)
        data[k] = (float)(k * 37 % 101 - 50) / 64;
    Onnx__TensorProto *tensor = builder_initializer(b, name, COLLAGE_FLOAT32, count, data);
    tensor->n_dims = rank;
    tensor->dims = arena_copy(b->arena, dims, rank * sizeof *dims);
}

static void add_ints(struct model_builder *b, const char *name, int64_t first, int64_t second)
{
    const int64_t both[] = { first, second };
    builder_initializer(b, name, COLLAGE_INT64, 2, both);
}

static void add_constants(struct model_builder *b)
{
    const bool condition = true;
    add_floats(b, "w", 4, (const int64_t[]){ 4, 2, 3, 3 });
    add_floats(b, "wb", 1, (const int64_t[]){ 4 });
    add_floats(b, "g", 2, (const int64_t[]){ 64, 4 });
    add_floats(b, "gb", 1, (const int64_t[]){ 4 });
    add_floats(b, "k1", 1, (const int64_t[]){ 4 });
    add_floats(b, "k2", 1, (const int64_t[]){ 4 });
    add_ints(b, "starts", 0, 0);
    add_ints(b, "ends", 4, 4);
    add_ints(b, "axes", 2, 3);
    add_ints(b, "shape", 1, 64);
    add_ints(b, "repeats", 2, 1);
    builder_initializer(b, "c", COLLAGE_BOOL, 1, &condition);
}

/* The Slice takes 4x4 of whatever comes, so that much of what damage does to the Conv and the pool
 * still fits the Gemm; the Tile repeats as often as its constant says. */
static void add_nodes(struct model_builder *b)
{
    static const int64_t ones[] = { 1, 1, 1, 1 }, twos[] = { 2, 2 };
    builder_node(b, "Conv", "x,w,wb", "conv");
    builder_ints(b, "pads", 4, ones);
    builder_node(b, "Relu", "conv", "relu");
    builder_node(b, "MaxPool", "relu", "pool");
    builder_ints(b, "kernel_shape", 2, twos);
    builder_ints(b, "strides", 2, twos);
    builder_node(b, "Identity", "pool", "same");
    builder_node(b, "Slice", "same,starts,ends,axes", "slice");
    builder_node(b, "Reshape", "slice,shape", "flat");
    builder_node(b, "Gemm", "flat,g,gb", "gemm");
    builder_node(b, "Mul", "k1,k2", "k");
    builder_node(b, "Add", "gemm,k", "sum");
    builder_node(b, "If", "c", "chosen");
}

/* The model's bytes, malloc'ed to their size, so that reading behind them is seen. */
static uint8_t *make_model(size_t *size)
{
    struct model_builder b, then, otherwise;
    Onnx__StringStringEntryProto property;
    builder_begin(&b, 21);
    builder_begin(&then, 21);
    builder_begin(&otherwise, 21);
    builder_input(&b, "x", COLLAGE_FLOAT32, "1x2x8x8");
    add_constants(&b);
    add_nodes(&b);
    add_floats(&then, "factor", 1, (const int64_t[]){ 4 });
    builder_node(&then, "Mul", "sum,factor", "product");
    builder_output(&then, "product");
    builder_node(&otherwise, "Neg", "sum", "negative");
    builder_output(&otherwise, "negative");
    builder_body(&b, "then_branch", &then);
    builder_body(&b, "else_branch", &otherwise);
    builder_node(&b, "Softmax", "chosen", "soft");
    builder_node(&b, "Tile", "soft,repeats", "y");
    builder_output(&b, "y");
    builder_output(&b, "pool");
    onnx__string_string_entry_proto__init(&property);
    property.key = arena_string(b.arena, "collage.input.x");
    property.value = arena_string(b.arena, "float");
    b.properties[b.model.n_metadata_props++] = &property;
    *size = onnx__model_proto__get_packed_size(&b.model);
    uint8_t *bytes = malloc(*size);
    assert_non_null(bytes);
    assert_int_equal(onnx__model_proto__pack(&b.model, bytes), *size);
    builder_end(&b);
    builder_end(&then);
    builder_end(&otherwise);
    return bytes;
}

/* ---- one case ---- */

static void must(collage_status status, const char *what, const struct error *error)
{
    if (status != COLLAGE_OK)
        fail_msg("%s: %s: status %d, %s", where, what, (int)status, error->text);
}

/* A refusal is one line that says something, and never that we are at fault. */
static void check_refusal(collage_status status, const struct error *error)
{
    if (status != error->status || status == COLLAGE_ERROR_INTERNAL || strlen(error->text) < 10)
        fail_msg("%s: status %d, in the error %d, '%s'", where, (int)status, (int)error->status,
                 error->text);
    for (const char *c = error->text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            fail_msg("%s: a control character in '%s'", where, error->text);
}

static bool is_too_large(const struct graph *graph)
{
    double elements = 0;
    for (size_t v = 0; v < graph->value_count; v++)
        elements += (double)tensor_elements(&graph->values[v].tensor);
    return !(elements <= MOST_ELEMENTS) || !(graph_work(graph) <= MOST_WORK);
}

/* What a run took and gave, apart from the graph, which canon_run edits. */
struct record {
    struct arena *arena;
    struct tensor *inputs, *outputs;
    uint32_t input_count, output_count;
};

static struct tensor *keep(struct arena *arena, const struct oracle *oracle, const value_id *ids,
                           uint32_t count)
{
    struct tensor *kept = arena_array(arena, count, sizeof *kept);
    assert_non_null(kept);
    for (uint32_t k = 0; k < count; k++) {
        kept[k] = oracle_value(oracle, ids[k]);
        kept[k].data = arena_copy(arena, kept[k].data, (size_t)tensor_bytes(&kept[k]));
        assert_non_null(kept[k].data);
    }
    return kept;
}

static collage_status record_run(const struct graph *graph, struct record *record,
                                 struct error *error)
{
    struct oracle *oracle;
    collage_status status = oracle_create(graph, NULL, NULL, NULL, &oracle, error);
    if (status != COLLAGE_OK)
        return status;
    record->input_count = graph->input_count;
    record->output_count = graph->output_count;
    record->inputs = keep(record->arena, oracle, graph->inputs, graph->input_count);
    record->outputs = keep(record->arena, oracle, graph->outputs, graph->output_count);
    oracle_destroy(oracle);
    return COLLAGE_OK;
}

/* No pass that applies to this model rounds: the canonical graph gives the same, exactly. */
static void check_same(const struct graph *graph, const struct record *record)
{
    struct oracle *oracle;
    struct error error = { 0 };
    assert_int_equal(graph->input_count, record->input_count);
    assert_int_equal(graph->output_count, record->output_count);
    must(oracle_create(graph, record->inputs, NULL, NULL, &oracle, &error), "canonical run",
         &error);
    for (uint32_t k = 0; k < graph->output_count; k++) {
        struct tensor output = oracle_value(oracle, graph->outputs[k]);
        struct tensor_difference worst = tensor_compare(&output, &record->outputs[k]);
        if (!(worst.error <= 0))
            fail_msg("%s: output %u is canonically %g instead of %g at %lld", where, k,
                     worst.actual, worst.expected, (long long)worst.index);
    }
    oracle_destroy(oracle);
}

/* What is refused as imported may work canonically: the node at fault was in nobody's way. */
static void check_refused_too(const struct graph *graph)
{
    struct oracle *oracle;
    struct error error = { 0 };
    collage_status status = oracle_create(graph, NULL, NULL, NULL, &oracle, &error);
    if (status != COLLAGE_OK)
        check_refusal(status, &error);
    oracle_destroy(oracle);
}

static enum outcome judge(const uint8_t *bytes, size_t size)
{
    struct graph *graph;
    struct error error = { 0 };
    enum outcome outcome = VERIFIED;
    collage_status status = onnx_import_bytes(bytes, size, NULL, NULL, 0, &graph, &error);
    if (status != COLLAGE_OK) {
        assert_null(graph);
        check_refusal(status, &error);
        return REFUSED;
    }
    must(graph_verify(graph, &error), "imported graph", &error);
    struct record record = { .arena = arena_create() };
    assert_non_null(record.arena);
    if (is_too_large(graph)) {
        outcome = SKIPPED;
    } else if ((status = record_run(graph, &record, &error)) != COLLAGE_OK) {
        outcome = REFUSED;
        check_refusal(status, &error);
        error_clear(&error);
    }
    must(canon_run(graph, &error), "canonicalising", &error);
    must(graph_verify(graph, &error), "canonical graph", &error);
    if (outcome == VERIFIED)
        check_same(graph, &record);
    else if (outcome == REFUSED)
        check_refused_too(graph);
    arena_destroy(record.arena);
    graph_destroy(graph);
    return outcome;
}

static void print_counts(const char *what, const size_t *counts)
{
    print_message("%s: %zu refused, %zu verified, %zu too large to run\n", what, counts[REFUSED],
                  counts[VERIFIED], counts[SKIPPED]);
}

/* ---- the tests ---- */

static void the_model_itself_is_verified(void **state)
{
    (void)state;
    size_t size;
    uint8_t *bytes = make_model(&size);
    snprintf(where, sizeof where, "undamaged");
    assert_int_equal(judge(bytes, size), VERIFIED);
    free(bytes);
}

/* Whole is only what lacks nothing but the last field, the metadata. */
static void cut_at_every_byte(void **state)
{
    (void)state;
    size_t size, counts[OUTCOMES] = { 0 };
    uint8_t *bytes = make_model(&size);
    for (size_t length = 0; length < size; length++) {
        uint8_t *piece = malloc(length ? length : 1);
        assert_non_null(piece);
        memcpy(piece, bytes, length);
        snprintf(where, sizeof where, "cut at %zu", length);
        counts[judge(piece, length)]++;
        free(piece);
    }
    free(bytes);
    print_counts("cut", counts);
    assert_true(size > 1500);
    assert_int_equal(counts[VERIFIED], 1);
    assert_int_equal(counts[REFUSED], size - 1);
}

static void flip(uint8_t *bytes, size_t size, uint64_t *random)
{
    for (uint64_t left = 1 + (splitmix64(random) >> 8) % 3; left > 0; left--) {
        uint64_t bit = (splitmix64(random) >> 8) % (8 * size);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void with_bits_flipped(void **state)
{
    (void)state;
    uint64_t random = 29;
    size_t size, counts[OUTCOMES] = { 0 };
    uint8_t *bytes = make_model(&size), *damaged = malloc(size);
    assert_non_null(damaged);
    for (int k = 0; k < FLIPPED_FILES; k++) {
        memcpy(damaged, bytes, size);
        flip(damaged, size, &random);
        snprintf(where, sizeof where, "flipped file %d", k);
        counts[judge(damaged, size)]++;
    }
    free(damaged);
    free(bytes);
    print_counts("flipped", counts);
    assert_true(counts[REFUSED] >= FLIPPED_FILES / 10);
    assert_true(counts[VERIFIED] >= FLIPPED_FILES / 5);
    assert_true(counts[SKIPPED] >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_itself_is_verified),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(with_bits_flipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
