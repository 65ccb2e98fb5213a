/* SPDX-License-Identifier: Apache-2.0 */
/* The regions that graph-level backends are offered, on hand-made graphs and on real networks. */
#include "unit/pattern/fixture.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/text.h"
#include "canon/canon.h"
#include "onnx/onnx.h"

static void enumerate(struct fixture *f)
{
    const bool enabled[BACKENDS] = { false, false, true };
    struct error error = { 0 };
    if (candidate_set_enumerate(f->set, enabled, &error))
        fail_msg("%s", error.text);
}

/* A chain of operators, one letter each: r Relu, s Softmax, t Tanh (unsupported). */
static void open_chain(struct fixture *f, const char *letters)
{
    struct text text = { 0 };
    text_string(&text, "graph \"chain\" {\n  input %v0: float32[4]\n");
    size_t count = strlen(letters);
    for (size_t k = 0; k < count; k++)
        text_format(&text, "  %%v%zu: float32[4] = %s(%%v%zu)\n", k + 1,
                    letters[k] == 'r'   ? "Relu"
                    : letters[k] == 's' ? "Softmax"
                                        : "Tanh",
                    k);
    text_format(&text, "  output %%v%zu\n}\n", count);
    assert_false(text.failed);
    fixture_open(f, text.bytes);
    text_free(&text);
    enumerate(f);
}

static void test_chain(void **state)
{
    (void)state;
    struct fixture f;
    open_chain(&f, "srsrrsrsr"); /* four blocks: 0-1, 2-4, 5-6, 7-8 */
    for (int n = 0; n < 9; n++)
        assert_int_equal(COUNT(&f, GRAPHS, n), 1);
    assert_int_equal(COUNT(&f, GRAPHS, 0, 1), 1);
    assert_int_equal(COUNT(&f, GRAPHS, 2, 3, 4), 1);
    assert_int_equal(COUNT(&f, GRAPHS, 1, 2), 0); /* across blocks */
    assert_int_equal(COUNT(&f, GRAPHS, 0, 1, 2, 3, 4), 1);
    assert_int_equal(COUNT(&f, GRAPHS, 5, 6, 7, 8), 1);
    assert_int_equal(COUNT(&f, GRAPHS, 2, 3, 4, 5, 6), 0);       /* a run starts at its multiples */
    assert_int_equal(COUNT(&f, GRAPHS, 2, 3, 4, 5, 6, 7, 8), 1); /* all but the first block */
    assert_int_equal(COUNT(&f, GRAPHS, 0, 1, 2, 3, 4, 5, 6), 1); /* all but the last */
    assert_int_equal(COUNT(&f, GRAPHS, 0, 1, 2, 3, 4, 5, 6, 7, 8), 1);
    fixture_close(&f);
}

static void test_unsupported_inside(void **state)
{
    (void)state;
    struct fixture f;
    open_chain(&f, "srsrtrssr");
    assert_int_equal(COUNT(&f, GRAPHS, 4), 0);
    assert_int_equal(COUNT(&f, GRAPHS, 0, 1, 2, 3), 1); /* maximal on either side */
    assert_int_equal(COUNT(&f, GRAPHS, 5, 6, 7, 8), 1);
    for (size_t c = 0; c < f.set->count; c++)
        for (uint32_t k = 0; k < f.set->items[c].region.node_count; k++)
            assert_int_not_equal(f.set->items[c].region.nodes[k], 4);
    fixture_close(&f);
}

/* The unsupported node lies beside: 0 -> 1 (Tanh) -> 3, 0 -> 2 -> 3. {0, 2, 3} is not convex. */
static void test_maximal_is_convex(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, "graph \"beside\" {\n"
                     "  input %x: float32[4]\n"
                     "  %a: float32[4] = Relu(%x)\n"
                     "  %t: float32[4] = Tanh(%a)\n"
                     "  %b: float32[4] = Abs(%a)\n"
                     "  %c: float32[4] = Add(%t, %b)\n"
                     "  %d: float32[4] = Neg(%c)\n"
                     "  output %d\n"
                     "}\n");
    enumerate(&f);
    assert_int_equal(COUNT(&f, GRAPHS, 0, 2), 1);
    assert_int_equal(COUNT(&f, GRAPHS, 3, 4), 1);
    assert_int_equal(COUNT(&f, GRAPHS, 0, 2, 3, 4), 0);
    fixture_close(&f);
}

static void test_empty(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, "graph \"empty\" {\n  input %x: float32[4]\n  output %x\n}\n");
    enumerate(&f);
    assert_int_equal(f.set->count, 0);
    fixture_close(&f);
}

/* ---- real networks ---- */

/* A copy of the model beside a hole as large as its weights: shapes are all that counts here. */
static struct graph *load(const char *name)
{
    char folder[] = "/tmp/collage-regions-XXXXXX", path[256], weights[256];
    struct mapping file;
    struct graph *graph;
    struct error error = { 0 };
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/%s.onnx", COLLAGE_NETWORKS, name);
    assert_int_equal(file_map(path, &file, &error), COLLAGE_OK);
    snprintf(path, sizeof path, "%s/%s.onnx", folder, name);
    snprintf(weights, sizeof weights, "%s/%s.weights", folder, name);
    assert_int_equal(file_write(path, file.data, file.bytes, &error), COLLAGE_OK);
    file_unmap(&file);
    int hole = open(weights, O_CREAT | O_RDWR, 0600);
    assert_true(hole >= 0 && ftruncate(hole, 500000000) == 0);
    close(hole);
    if (onnx_import(path, NULL, 0, &graph, &error) || canon_run(graph, &error))
        fail_msg("%s: %s", name, error.text);
    unlink(path);
    unlink(weights);
    rmdir(folder);
    return graph;
}

static int compare_keys(const void *left, const void *right)
{
    return memcmp(left, right, sizeof(struct hash));
}

static void check_network(const char *name, size_t most_regions, size_t most_keys)
{
    struct fixture f;
    fixture_open_graph(&f, load(name));
    enumerate(&f);
    struct hash *keys = calloc(f.set->count + 1, sizeof *keys);
    size_t regions = 0, key_count = 0, unique = 0;
    bool whole = false;
    for (size_t c = 0; c < f.set->count; c++) {
        const struct candidate *candidate = &f.set->items[c];
        if (candidate->view)
            continue;
        keys[key_count++] = candidate->key;
        regions += candidate->region.node_count > 1;
        whole = whole || candidate->region.node_count == f.graph->node_count;
    }
    qsort(keys, key_count, sizeof *keys, compare_keys);
    for (size_t k = 0; k < key_count; k++)
        unique += k == 0 || compare_keys(&keys[k - 1], &keys[k]) != 0;
    print_message("%s: %zu nodes, %zu regions of several nodes, %zu keys in all\n", name,
                  f.graph->node_count, regions, unique);
    assert_true(whole);
    assert_true(regions >= 1 && regions <= most_regions);
    assert_true(unique <= most_keys);
    free(keys);
    fixture_close(&f);
}

static void test_networks(void **state)
{
    (void)state;
    check_network("tiny_cnn", 20, 30);
    check_network("resnet50", 80, 100);
    check_network("mobilenet_v2", 150, 200);
    check_network("densenet121", 250, 600);
    check_network("inception_v3", 150, 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_unsupported_inside),
        cmocka_unit_test(test_maximal_is_convex),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_networks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
