/* SPDX-License-Identifier: Apache-2.0 */
/* The weight rule, byte for byte: compared with the check sums in bench/networks/weights.sha256. */
#include "unit/onnx/networks.h"

#include <dirent.h>

#include "unit/onnx/model_builder.h"

/* The first word of a command's output or of the line of a file that ends with `suffix`. */
static void first_word(FILE *file, const char *suffix, char word[128])
{
    char line[512];
    word[0] = '\0';
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        size_t length = strlen(line), tail = strlen(suffix);
        if (length < tail || strcmp(line + length - tail, suffix) != 0)
            continue;
        snprintf(word, 128, "%.*s", (int)strcspn(line, " "), line);
        return;
    }
}

static void weights_have_their_check_sums(void **state)
{
    (void)state;
    static const char *const names[] = { "tiny_cnn", "tiny_transformer", "lstm_tagger" };
    for (int k = 0; k < 3; k++) {
        char path[600], command[800], suffix[80], got[128], expected[128];
        network_filled(names[k], path);
        snprintf(suffix, sizeof suffix, " %s.weights", names[k]);
        FILE *list = fopen(COLLAGE_NETWORKS "/weights.sha256", "r");
        assert_non_null(list);
        first_word(list, suffix, expected);
        fclose(list);
        assert_int_equal(strlen(expected), 64);
        snprintf(command, sizeof command, "sha256sum '%.*s.weights'", (int)strlen(path) - 5, path);
        FILE *pipe = popen(command, "r");
        assert_non_null(pipe);
        first_word(pipe, ".weights", got);
        assert_int_equal(pclose(pipe), 0);
        assert_string_equal(got, expected);
    }
}

static size_t count_files(const char *folder)
{
    size_t count = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

static void failures_leave_nothing_behind(void **state)
{
    (void)state;
    struct error error = { 0 };
    uint64_t bytes = 7;
    const char *folder = COLLAGE_TEST_DATA "/nothing";
    assert_int_equal(file_make_directory(folder, &error), COLLAGE_OK);
    size_t before = count_files(folder);
    assert_int_equal(onnx_weights_fill(COLLAGE_TESTS "/CMakeLists.txt", folder, &bytes, &error),
                     COLLAGE_ERROR_FORMAT);
    error_clear(&error);
    assert_int_equal(onnx_weights_fill(COLLAGE_NETWORKS "/tiny_cnn.onnx",
                                       COLLAGE_TEST_DATA "/no/such/folder", &bytes, &error),
                     COLLAGE_ERROR_IO);
    assert_non_null(strstr(error.text, "no/such/folder"));
    assert_int_equal(bytes, 7);
    assert_int_equal(count_files(folder), before);
}

/* A model with the rule's properties; `bytes` of weights are announced for a tensor of two. */
static collage_status fill(const char *rule, const char *file, const char *affine,
                           const char *announced, struct error *error)
{
    const float none[2] = { 0, 0 };
    const char *folder = COLLAGE_TEST_DATA "/rule";
    const char *model = COLLAGE_TEST_DATA "/rule/model.onnx";
    const char *pairs[][2] = {
        { "collage.weights.rule", rule },       { "collage.weights.seed", "5" },
        { "collage.weights.file", file },       { "collage.weights.count", "1" },
        { "collage.weights.bytes", announced }, { "collage.weights.0", affine }
    };
    const char *external[][2] = { { "location", file }, { "offset", "64" }, { "length", "8" } };
    struct model_builder b;
    builder_begin(&b, 17);
    Onnx__TensorProto *w = builder_initializer(&b, "w", COLLAGE_FLOAT32, 2, none);
    w->has_raw_data = false;
    w->has_data_location = true;
    w->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    w->external_data = arena_array(b.arena, 3, sizeof(void *));
    for (size_t k = 0; k < 9; k++) {
        Onnx__StringStringEntryProto *entry = arena_alloc(b.arena, sizeof *entry);
        onnx__string_string_entry_proto__init(entry);
        entry->key = arena_string(b.arena, k < 6 ? pairs[k][0] : external[k - 6][0]);
        entry->value = arena_string(b.arena, k < 6 ? pairs[k][1] : external[k - 6][1]);
        if (k < 6)
            b.properties[b.model.n_metadata_props++] = entry;
        else
            w->external_data[w->n_external_data++] = entry;
    }
    size_t size = onnx__model_proto__get_packed_size(&b.model);
    uint8_t *bytes = arena_alloc(b.arena, size);
    onnx__model_proto__pack(&b.model, bytes);
    assert_int_equal(file_make_directory(folder, NULL), COLLAGE_OK);
    assert_int_equal(file_write(model, bytes, size, NULL), COLLAGE_OK);
    builder_end(&b);
    error_clear(error);
    return onnx_weights_fill(model, NULL, NULL, error);
}

static void the_rule_is_checked(void **state)
{
    (void)state;
    static const char good[] = "splitmix64-affine-1";
    struct error error;
    struct mapping file;
    assert_int_equal(fill(good, "w.weights", "2 10", "72", &error), COLLAGE_OK);
    assert_int_equal(file_map(COLLAGE_TEST_DATA "/rule/w.weights", &file, &error), COLLAGE_OK);
    assert_int_equal(file.bytes, 72);
    uint64_t stream = 5;
    float values[2];
    memcpy(values, (const char *)file.data + 64, sizeof values);
    for (int k = 0; k < 2; k++) {
        double u = (double)(splitmix64(&stream) >> 40) / 8388608.0 - 1;
        assert_true(values[k] == (float)(10 + 2 * u));
    }
    assert_int_equal(*(const char *)file.data, 0);
    file_unmap(&file);
    assert_int_equal(fill("another", "w.weights", "2 10", "72", &error), COLLAGE_ERROR_UNSUPPORTED);
    static const char *const files[] = { "../w.weights", "/tmp/w", "", ".", "model.onnx" };
    for (size_t k = 0; k < sizeof files / sizeof *files; k++)
        assert_int_equal(fill(good, files[k], "2 10", "72", &error), COLLAGE_ERROR_FORMAT);
    assert_int_equal(fill(good, "w.weights", "2", "72", &error), COLLAGE_ERROR_FORMAT);
    assert_int_equal(fill(good, "w.weights", "2 10 3", "72", &error), COLLAGE_ERROR_FORMAT);
    assert_int_equal(fill(good, "w.weights", "2 10", "73", &error), COLLAGE_ERROR_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_have_their_check_sums),
        cmocka_unit_test(failures_leave_nothing_behind),
        cmocka_unit_test(the_rule_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
