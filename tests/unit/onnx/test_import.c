/* SPDX-License-Identifier: Apache-2.0 */
/* What the importer accepts, and the one clear line with which it refuses the rest. */
#include <sys/stat.h>
#include <unistd.h>

#include "unit/onnx/model_builder.h"

static void begin(struct model_builder *b, const char *shape)
{
    builder_begin(b, 17);
    builder_input(b, "x", COLLAGE_FLOAT32, shape);
    builder_output(b, "y");
}

/* ---- shapes ---- */

static void symbols_bind_everywhere(void **state)
{
    (void)state;
    struct model_builder b;
    struct graph *graph;
    struct error error;
    const collage_shape shape = { "x", 2, { 5, 4 } };
    begin(&b, "Nx4");
    builder_input(&b, "z", COLLAGE_FLOAT32, "Nx4");
    builder_node(&b, "Add", "x,z", "y");
    assert_int_equal(builder_import(&b, NULL, &shape, 1, &graph, &error), COLLAGE_OK);
    assert_int_equal(graph->input_count, 2);
    for (int k = 0; k < 2; k++)
        assert_int_equal(graph->values[graph->inputs[k]].tensor.dims[0], 5);
    assert_int_equal(graph->values[graph->outputs[0]].tensor.dims[0], 5);
    graph_destroy(graph);
    builder_end(&b);
}

static void refuse_shape(const char *file_shape, const collage_shape *shapes, size_t count,
                         const char *message)
{
    struct model_builder b;
    struct graph *graph;
    struct error error;
    begin(&b, file_shape);
    builder_input(&b, "z", COLLAGE_FLOAT32, "N");
    builder_node(&b, "Relu", "x", "y");
    assert_int_equal(builder_import(&b, NULL, shapes, count, &graph, &error), COLLAGE_ERROR_SHAPE);
    if (!strstr(error.text, message))
        fail_msg("'%s' instead of '%s'", error.text, message);
    builder_end(&b);
}

static void wrong_shapes_are_refused(void **state)
{
    (void)state;
    const collage_shape good = { "x", 4, { 2, 3, 224, 224 } };
    const collage_shape z_other = { "z", 1, { 3 } };
    const collage_shape unknown = { "q", 1, { 3 } };
    const collage_shape rank = { "x", 2, { 1, 3 } };
    const collage_shape fixed = { "x", 4, { 1, 4, 224, 224 } };
    const collage_shape negative = { "x", 4, { -1, 3, 224, 224 } };
    const collage_shape deep = { "x", 9, { 1 } };
    const collage_shape both[2] = { good, z_other };
    refuse_shape("Nx3x224x224", NULL, 0,
                 "input 'x' has the symbolic shape Nx3x224x224: give --shape x=1x3x224x224");
    refuse_shape("?x3", NULL, 0, "symbolic shape ?x3: give --shape x=1x3");
    refuse_shape(NULL, NULL, 0, "input 'x' has no shape in the model: give --shape x=...");
    refuse_shape("Nx3x224x224", both, 2, "'N' is given as 2 and as 3");
    refuse_shape("Nx3x224x224", &unknown, 1, "given for 'q', but the model's inputs are: x, z");
    refuse_shape("Nx3x224x224", &rank, 1, "has 4 dimensions in the model, but 2");
    refuse_shape("Nx3x224x224", &fixed, 1, "dimension 1 is 3 in the model, but 4");
    refuse_shape("Nx3x224x224", &negative, 1, "must be positive");
    refuse_shape("Nx3x224x224", &deep, 1, "at most 8");
    refuse_shape("1000000x1000000x1000000", NULL, 0, "impossible shape");
}

static void shape_arithmetic_is_evaluated(void **state)
{
    (void)state;
    const int64_t zero = 0, minus = -1;
    struct model_builder b;
    begin(&b, "2x3x4");
    builder_initializer(&b, "zero", COLLAGE_INT64, 1, &zero);
    builder_initializer(&b, "minus", COLLAGE_INT64, 1, &minus);
    builder_node(&b, "Relu", "x", "r");
    builder_node(&b, "Shape", "r", "s");
    builder_node(&b, "Gather", "s,zero", "g");
    builder_node(&b, "Concat", "g,minus", "c");
    builder_int(&b, "axis", 0);
    builder_node(&b, "Reshape", "r,c", "y");
    struct graph *graph = builder_graph(&b);
    assert_int_equal(graph->node_count, 2);
    const struct tensor *y = &graph->values[graph->outputs[0]].tensor;
    assert_int_equal(y->rank, 2);
    assert_int_equal(y->dims[0], 2);
    assert_int_equal(y->dims[1], 12);
    graph_destroy(graph);
}

/* ---- structure ---- */

static void files_need_not_be_sorted(void **state)
{
    (void)state;
    struct model_builder b;
    begin(&b, "2");
    builder_node(&b, "Neg", "a", "y");
    builder_node(&b, "Relu", "x", "a");
    struct graph *graph = builder_graph(&b);
    assert_string_equal(graph->nodes[0].base.op_type, "Relu");
    graph_destroy(graph);
}

static void initializers_that_are_inputs_are_constants(void **state)
{
    (void)state;
    const float two[2] = { 1, 2 };
    struct model_builder b;
    begin(&b, "2");
    builder_input(&b, "w", COLLAGE_FLOAT32, "2");
    builder_initializer(&b, "w", COLLAGE_FLOAT32, 2, two);
    builder_node(&b, "Mul", "x,w", "y");
    struct graph *graph = builder_graph(&b);
    assert_int_equal(graph->input_count, 1);
    assert_true(graph_is_constant(graph, graph_find_value(graph, "w")));
    graph_destroy(graph);
}

static void broken_structures_are_refused(void **state)
{
    (void)state;
    struct model_builder b;
    begin(&b, "2");
    builder_node(&b, "Neg", "b", "a");
    builder_node(&b, "Neg", "a", "b");
    builder_node(&b, "Neg", "b", "y");
    builder_refused(&b, COLLAGE_ERROR_FORMAT, "cycle");
    begin(&b, "2");
    builder_node(&b, "Neg", "nowhere", "y");
    builder_refused(&b, COLLAGE_ERROR_FORMAT, "input 'nowhere' is made by no node");
    begin(&b, "2");
    builder_node(&b, "Neg", "x", "z");
    builder_refused(&b, COLLAGE_ERROR_FORMAT, "output 'y' is made by no node");
    begin(&b, "2");
    builder_node(&b, "Neg", "x", "y");
    builder_node(&b, "Relu", "x", "y");
    builder_refused(&b, COLLAGE_ERROR_FORMAT, "'y' is made by two nodes");
    begin(&b, "2");
    builder_node(&b, "Neg", "x", "x");
    builder_refused(&b, COLLAGE_ERROR_FORMAT, "cycle");
    begin(&b, "2");
    builder_input(&b, "x", COLLAGE_FLOAT32, "2");
    builder_node(&b, "Neg", "x", "y");
    builder_refused(&b, COLLAGE_ERROR_FORMAT, "value 'x' is defined twice");
    begin(&b, "2");
    b.graph.n_output = 0;
    builder_refused(&b, COLLAGE_ERROR_FORMAT, "no outputs");
    begin(&b, "2");
    b.model.graph = NULL;
    builder_refused(&b, COLLAGE_ERROR_FORMAT, "is not an ONNX model");
    begin(&b, "2x2x2x2x2x2x2x2x2");
    builder_node(&b, "Neg", "x", "y");
    builder_refused(&b, COLLAGE_ERROR_UNSUPPORTED, "9 dimensions");
}

static void unsupported_parts_are_named(void **state)
{
    (void)state;
    struct model_builder b;
    begin(&b, "2");
    builder_node(&b, "Foo", "x", "y")->name = arena_string(b.arena, "n1");
    builder_refused(&b, COLLAGE_ERROR_UNSUPPORTED,
                    "operator 'Foo' (node 'n1', domain '', opset 17) is not supported");
    begin(&b, "2");
    builder_node(&b, "Relu", "x", "y")->domain = arena_string(b.arena, "com.example");
    builder_refused(&b, COLLAGE_ERROR_UNSUPPORTED, "domain 'com.example'");
    begin(&b, "2");
    builder_node(&b, "If", "x", "y");
    builder_attribute(&b, "then_branch", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH);
    builder_refused(&b, COLLAGE_ERROR_FORMAT, "no sub-graph");
    for (int64_t opset = 6; opset <= OPS_OPSET + 1; opset += OPS_OPSET - 5) {
        begin(&b, "2");
        b.opset.version = opset;
        builder_node(&b, "Relu", "x", "y");
        builder_refused(&b, COLLAGE_ERROR_UNSUPPORTED, "opsets 7 to 28 are supported");
    }
    builder_begin(&b, 17);
    builder_input(&b, "x", (collage_dtype)8, "2"); /* strings */
    builder_output(&b, "x");
    builder_refused(&b, COLLAGE_ERROR_UNSUPPORTED, "element type 8");
    begin(&b, "2");
    builder_node(&b, "Relu", "x,x", "y");
    builder_refused(&b, COLLAGE_ERROR_SHAPE, "node 'the_Relu'");
    begin(&b, "2");
    builder_node(&b, "LeakyRelu", "x", "y");
    builder_int(&b, "alpha", 1);
    builder_refused(&b, COLLAGE_ERROR_SHAPE, "alpha");
    begin(&b, "2");
    builder_node(&b, "LeakyRelu", "x", "y");
    builder_float(&b, "alpha", 1);
    builder_float(&b, "alpha", 2);
    builder_refused(&b, COLLAGE_ERROR_FORMAT, "attribute 'alpha' is there twice");
}

static void tensors_must_fit_their_data(void **state)
{
    (void)state;
    const float data[4] = { 1, 2, 3, 4 };
    const int64_t negative = -2, huge = (int64_t)1 << 62;
    struct model_builder b;
    begin(&b, "2");
    builder_node(&b, "Neg", "x", "y");
    builder_initializer(&b, "w", COLLAGE_FLOAT32, 4, data)->raw_data.len = 15;
    builder_refused(&b, COLLAGE_ERROR_FORMAT, "tensor 'w' has 16 bytes, but data of 15");
    begin(&b, "2");
    builder_node(&b, "Neg", "x", "y");
    builder_initializer(&b, "w", COLLAGE_FLOAT32, 4, data)->has_raw_data = false;
    builder_refused(&b, COLLAGE_ERROR_FORMAT, "4 elements, but data of 0");
    const int64_t *wrong[] = { &negative, &huge };
    for (int k = 0; k < 2; k++) {
        begin(&b, "2");
        builder_node(&b, "Neg", "x", "y");
        Onnx__TensorProto *w = builder_initializer(&b, "w", COLLAGE_FLOAT32, 4, data);
        w->dims = arena_copy(b.arena, wrong[k], sizeof *wrong[k]);
        builder_refused(&b, COLLAGE_ERROR_FORMAT, "impossible shape");
    }
}

/* ---- external data ---- */

static const char folder[] = COLLAGE_TEST_DATA "/external";

static void write_file(const char *name, size_t bytes)
{
    char path[600];
    char data[64];
    struct error error = { 0 };
    for (size_t k = 0; k < sizeof data; k++)
        data[k] = (char)k;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(file_make_directory(folder, &error), COLLAGE_OK);
    assert_int_equal(file_write(path, data, bytes, &error), COLLAGE_OK);
}

/* Imports y = x * w where w is external: two floats. */
static collage_status import_external(const char *location, const char *offset, const char *length,
                                      struct graph **graph, struct error *error)
{
    const float none[2] = { 0, 0 };
    struct model_builder b;
    char path[600];
    begin(&b, "2");
    Onnx__TensorProto *w = builder_initializer(&b, "w", COLLAGE_FLOAT32, 2, none);
    const char *pairs[3][2] = { { "location", location },
                                { "offset", offset },
                                { "length", length } };
    w->has_raw_data = false;
    w->has_data_location = true;
    w->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    w->external_data = arena_array(b.arena, 3, sizeof(void *));
    for (int k = 0; k < 3; k++) {
        Onnx__StringStringEntryProto *entry = arena_alloc(b.arena, sizeof *entry);
        onnx__string_string_entry_proto__init(entry);
        entry->key = arena_string(b.arena, pairs[k][0]);
        entry->value = pairs[k][1] ? arena_string(b.arena, pairs[k][1]) : NULL;
        if (pairs[k][1])
            w->external_data[w->n_external_data++] = entry;
    }
    builder_node(&b, "Mul", "x,w", "y");
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    collage_status status = builder_import(&b, path, NULL, 0, graph, error);
    builder_end(&b);
    return status;
}

static void external_data_are_mapped(void **state)
{
    (void)state;
    write_file("w.bin", 64);
    const char *offsets[] = { NULL, "4", "3" }; /* 3: not aligned, so copied */
    const unsigned first[] = { 0, 4, 3 };
    for (int k = 0; k < 3; k++) {
        struct graph *graph;
        struct error error;
        if (import_external("w.bin", offsets[k], "8", &graph, &error) != COLLAGE_OK)
            fail_msg("%s", error.text);
        const unsigned char *data = graph->values[graph_find_value(graph, "w")].tensor.data;
        assert_int_equal(data[0], first[k]);
        assert_int_equal(graph->mapping_count, 1);
        bool mapped = data >= (const unsigned char *)graph->mappings[0].data &&
                      data < (const unsigned char *)graph->mappings[0].data + 64;
        assert_int_equal(mapped, k < 2);
        assert_int_equal((uintptr_t)data % 4, 0);
        graph_destroy(graph);
    }
}

static void external_data_stay_in_the_folder(void **state)
{
    (void)state;
    write_file("w.bin", 64);
    char link[600], outside[600], directory[600];
    snprintf(link, sizeof link, "%s/link.bin", folder);
    snprintf(outside, sizeof outside, "%s/../outside.bin", folder);
    snprintf(directory, sizeof directory, "%s/sub", folder);
    assert_int_equal(file_write(outside, "12345678", 8, NULL), COLLAGE_OK);
    unlink(link);
    assert_int_equal(symlink("../outside.bin", link), 0);
    assert_int_equal(file_make_directory(directory, NULL), COLLAGE_OK);
    static const struct {
        const char *location, *offset, *length, *message;
        collage_status status;
    } bad[] = {
        { "../outside.bin", NULL, NULL, "relative path inside", COLLAGE_ERROR_FORMAT },
        { "sub/../../outside.bin", NULL, NULL, "relative path inside", COLLAGE_ERROR_FORMAT },
        { "/etc/passwd", NULL, NULL, "relative path inside", COLLAGE_ERROR_FORMAT },
        { "", NULL, NULL, "relative path inside", COLLAGE_ERROR_FORMAT },
        { "link.bin", NULL, NULL, "lead out of", COLLAGE_ERROR_FORMAT },
        { "sub", NULL, NULL, "not a regular file", COLLAGE_ERROR_IO },
        { "missing.bin", NULL, NULL, "is missing", COLLAGE_ERROR_IO },
        { "w.bin", "57", NULL, "too short", COLLAGE_ERROR_FORMAT },
        { "w.bin", "18446744073709551615", NULL, "too short", COLLAGE_ERROR_FORMAT },
        { "w.bin", "-1", NULL, "is no number", COLLAGE_ERROR_FORMAT },
        { "w.bin", "99999999999999999999", NULL, "is no number", COLLAGE_ERROR_FORMAT },
        { "w.bin", NULL, "9", "has 8 bytes, but its external data have 9", COLLAGE_ERROR_FORMAT },
        { NULL, NULL, NULL, "have no location", COLLAGE_ERROR_FORMAT },
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        struct graph *graph;
        struct error error;
        collage_status status =
            import_external(bad[k].location, bad[k].offset, bad[k].length, &graph, &error);
        if (status != bad[k].status || !strstr(error.text, bad[k].message))
            fail_msg("case %zu: %d '%s'", k, status, error.text);
    }
}

static void source_follows_the_files(void **state)
{
    (void)state;
    struct graph *one, *two;
    struct error error;
    write_file("w.bin", 64);
    assert_int_equal(import_external("w.bin", NULL, NULL, &one, &error), COLLAGE_OK);
    assert_int_equal(import_external("w.bin", NULL, NULL, &two, &error), COLLAGE_OK);
    assert_true(hash_equal(one->source, two->source));
    graph_destroy(two);
    write_file("w.bin", 60);
    assert_int_equal(import_external("w.bin", NULL, NULL, &two, &error), COLLAGE_OK);
    assert_false(hash_equal(one->source, two->source));
    assert_true(hash_equal(graph_hash(one), graph_hash(two)));
    graph_destroy(one);
    graph_destroy(two);
}

/* ---- bytes that are no model ---- */

static void nonsense_is_refused(void **state)
{
    (void)state;
    struct graph *graph;
    struct error error = { 0 };
    assert_int_equal(onnx_import("no/such/file.onnx", NULL, 0, &graph, &error), COLLAGE_ERROR_IO);
    assert_non_null(strstr(error.text, "no/such/file.onnx"));
    error_clear(&error);
    assert_int_equal(onnx_import(COLLAGE_TESTS, NULL, 0, &graph, &error), COLLAGE_ERROR_IO);
    error_clear(&error);
    assert_int_equal(onnx_import(COLLAGE_TESTS "/CMakeLists.txt", NULL, 0, &graph, &error),
                     COLLAGE_ERROR_FORMAT);
    assert_non_null(strstr(error.text, "is not an ONNX model"));
    error_clear(&error);
    assert_int_equal(onnx_import_bytes("", 0, NULL, NULL, 0, &graph, &error), COLLAGE_ERROR_FORMAT);
}

/* graph { node { attribute { g { node { ... } } } } }, thousands deep. */
static void deep_nesting_is_refused(void **state)
{
    (void)state;
    enum { DEPTH = 20000, ROOM = 6 * 4 * DEPTH };
    static uint8_t bytes[ROOM];
    static const uint8_t fields[] = { 7, 1, 5, 6 }; /* graph; node, attribute, g */
    size_t start = ROOM;
    for (int level = DEPTH; level-- > 0;) { /* from the inside out */
        uint64_t length = ROOM - start;
        uint8_t header[12];
        size_t used = 0;
        uint8_t field = level == 0 ? fields[0] : fields[1 + (level - 1) % 3];
        header[used++] = (uint8_t)(field << 3 | 2);
        do {
            header[used++] = (uint8_t)((length & 0x7f) | (length > 0x7f ? 0x80 : 0));
            length >>= 7;
        } while (length);
        start -= used;
        memcpy(bytes + start, header, used);
    }
    struct graph *graph;
    struct error error = { 0 };
    assert_int_equal(onnx_import_bytes(bytes + start, ROOM - start, NULL, NULL, 0, &graph, &error),
                     COLLAGE_ERROR_FORMAT);
    assert_non_null(strstr(error.text, "nested too deeply"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symbols_bind_everywhere),
        cmocka_unit_test(wrong_shapes_are_refused),
        cmocka_unit_test(shape_arithmetic_is_evaluated),
        cmocka_unit_test(files_need_not_be_sorted),
        cmocka_unit_test(initializers_that_are_inputs_are_constants),
        cmocka_unit_test(broken_structures_are_refused),
        cmocka_unit_test(unsupported_parts_are_named),
        cmocka_unit_test(tensors_must_fit_their_data),
        cmocka_unit_test(external_data_are_mapped),
        cmocka_unit_test(external_data_stay_in_the_folder),
        cmocka_unit_test(source_follows_the_files),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(deep_nesting_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
