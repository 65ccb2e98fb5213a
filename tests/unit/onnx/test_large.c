/* SPDX-License-Identifier: Apache-2.0 */
/* test_large.c: models whose weights are larger than 2 GB. The files have holes and take no room.
 */
#include <fcntl.h>
#include <unistd.h>

#include "unit/onnx/model_builder.h"

#include "unit/onnx/computed.h"

static const char folder[] = COLLAGE_TEST_DATA "/large";
static const int64_t two_gib = (int64_t)1 << 31;

/* A file of that size which takes no room, with a few numbers in it. */
static void make_sparse(const char *path, int64_t bytes, int64_t offset, const float *numbers,
                        size_t count)
{
    assert_int_equal(file_make_directory(folder, NULL), COLLAGE_OK);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, bytes), 0);
    assert_int_equal(pwrite(fd, numbers, count * sizeof *numbers, offset), count * sizeof *numbers);
    assert_int_equal(close(fd), 0);
}

static void write_at(const char *path, int64_t offset, const float *numbers, size_t count)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, numbers, count * sizeof *numbers, offset), count * sizeof *numbers);
    assert_int_equal(close(fd), 0);
}

static void add_external(struct model_builder *b, const char *name, int64_t count,
                         const char *offset)
{
    const char *const pairs[3][2] = { { "location", "large.bin" },
                                      { "offset", offset },
                                      { "checksum", "of no use to us" } };
    Onnx__TensorProto *w = builder_initializer(b, name, COLLAGE_FLOAT32, 0, "");
    w->dims = arena_copy(b->arena, &count, sizeof count);
    w->has_raw_data = false;
    w->has_data_location = true;
    w->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    w->external_data = arena_array(b->arena, 3, sizeof(void *));
    for (size_t k = 0; k < 3; k++) {
        Onnx__StringStringEntryProto *entry = arena_alloc(b->arena, sizeof *entry);
        onnx__string_string_entry_proto__init(entry);
        entry->key = arena_string(b->arena, pairs[k][0]);
        entry->value = arena_string(b->arena, pairs[k][1]);
        w->external_data[w->n_external_data++] = entry;
    }
}

/* A tensor of 2 GiB and 16 bytes, one behind it, and one behind 4 GiB. */
static void external_data_may_be_larger_than_2_gib(void **state)
{
    (void)state;
    const char *path = COLLAGE_TEST_DATA "/large/large.bin";
    const float last[3] = { 7, 3, 4 }, far[2] = { 5, 6 }, x[2] = { 1, 2 };
    const int64_t index = -1, elements = two_gib / 4 + 4;
    make_sparse(path, 2 * two_gib + 24, two_gib + 12, last, 3);
    write_at(path, 2 * two_gib + 16, far, 2);
    struct model_builder b;
    struct graph *graph;
    struct error error;
    builder_begin(&b, 17);
    builder_input(&b, "x", COLLAGE_FLOAT32, "2");
    add_external(&b, "big", elements, "0");
    add_external(&b, "w", 2, "2147483664");
    add_external(&b, "far", 2, "4294967312");
    builder_initializer(&b, "i", COLLAGE_INT64, 1, &index);
    builder_output(&b, "z");
    builder_output(&b, "y");
    builder_output(&b, "v");
    builder_node(&b, "Gather", "big,i", "z");
    builder_node(&b, "Mul", "x,w", "y");
    builder_node(&b, "Mul", "x,far", "v");
    if (builder_import(&b, COLLAGE_TEST_DATA "/large/model.onnx", NULL, 0, &graph, &error) !=
        COLLAGE_OK)
        fail_msg("%s", error.text);
    builder_end(&b);
    assert_int_equal(tensor_of(graph, graph_find_value(graph, "big"))->dims[0], elements);
    assert_int_equal(graph->mapping_count, 1);
    feed(graph, 0, x);
    run(graph);
    expect(graph, 0, "z", 1, (const double[]){ 7 });
    expect(graph, 1, "y", 2, (const double[]){ 3, 8 });
    expect(graph, 2, "v", 2, (const double[]){ 5, 12 });
    graph_destroy(graph);
    assert_int_equal(unlink(path), 0);
}

/* A message may not be: it is refused before it is read. */
static void a_model_larger_than_2_gib_is_refused(void **state)
{
    (void)state;
    const char *path = COLLAGE_TEST_DATA "/large/large.onnx";
    const float nothing = 0;
    struct graph *graph;
    struct error error = { 0 };
    make_sparse(path, two_gib + 1, 0, &nothing, 1);
    assert_int_equal(onnx_import(path, NULL, 0, &graph, &error), COLLAGE_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "larger than 2 GB: store its weights as external data"));
    assert_null(graph);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(external_data_may_be_larger_than_2_gib),
        cmocka_unit_test(a_model_larger_than_2_gib_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
