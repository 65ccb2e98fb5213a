/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation of an import fails once: always an error, never a crash or a leak. */
#include "unit/onnx/networks.h"

#include "canon/canon.h"
#include "graph/graph_text.h"

static collage_status everything(const char *path, struct error *error)
{
    struct graph *graph;
    struct text text = { 0 };
    collage_status status = onnx_import(path, NULL, 0, &graph, error);
    if (status != COLLAGE_OK)
        return status;
    status = canon_run(graph, error);
    graph_print(graph, &text);
    if (status == COLLAGE_OK && text.failed)
        status = COLLAGE_ERROR_MEMORY;
    text_free(&text);
    graph_destroy(graph);
    return status;
}

static void import_survives(const char *name)
{
    char path[600];
    network_filled(name, path);
    collage_status status = COLLAGE_ERROR_MEMORY;
    size_t n = 0;
    while (status != COLLAGE_OK) {
        struct error error = { 0 };
        memory_fail_after(++n);
        status = everything(path, &error);
        memory_fail_after(0);
        if (status != COLLAGE_OK && status != COLLAGE_ERROR_MEMORY)
            fail_msg("allocation %zu: status %d, %s", n, status, error.text);
        if (status == COLLAGE_ERROR_MEMORY && error.status != COLLAGE_OK)
            assert_non_null(strstr(error.text, "out of memory"));
    }
    print_message("%s: %zu allocations\n", name, n);
    assert_true(n > 100);
}

static void tiny_cnn_survives(void **state)
{
    (void)state;
    import_survives("tiny_cnn");
}

static void tiny_transformer_survives(void **state)
{
    (void)state;
    import_survives("tiny_transformer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiny_cnn_survives),
        cmocka_unit_test(tiny_transformer_survives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
