/* SPDX-License-Identifier: Apache-2.0 */
/* Where Concat, Split and Slice are offered as views of no cost. */
#include "unit/pattern/fixture.h"

#include "base/text.h"

/* What the backend "chains" does blocked around them makes that layout known. */
#define HEAD                                                                                       \
    "graph \"parts\" {\n"                                                                          \
    "  input %x: float32[1x16x4x4]\n"                                                              \
    "  %a: float32[1x16x4x4] = Relu(%x)\n"                                                         \
    "  %b: float32[1x16x4x4] = Tanh(%x)\n"

/* The layouts of the free candidates of each Concat, Split and Slice: "rows,aBcd8b -". */
static void check_offers(const char *graph_text, const char *expected)
{
    const bool enabled[BACKENDS] = { true, true, true };
    struct fixture f;
    struct error error = { 0 };
    struct text found = { 0 };
    fixture_open(&f, graph_text);
    if (candidate_set_enumerate(f.set, enabled, &error))
        fail_msg("%s", error.text);
    for (node_id node = 0; node < f.graph->node_count; node++) {
        const char *op = f.graph->nodes[node].op->name, *before = "";
        if (strcmp(op, "Concat") != 0 && strcmp(op, "Split") != 0 && strcmp(op, "Slice") != 0)
            continue;
        text_string(&found, found.bytes && found.bytes[0] ? " " : "");
        for (size_t c = 0; c < f.set->count; c++) {
            const struct candidate *candidate = &f.set->items[c];
            if (!candidate->part || candidate->region.nodes[0] != node)
                continue;
            const char *tag = candidate->output_layouts[0].tag;
            assert_true(candidate->view && candidate->cost.cost_ns <= 0);
            text_format(&found, "%s%s", before, tag[0] ? tag : "rows");
            before = ",";
        }
        text_string(&found, before[0] ? "" : "-");
    }
    assert_string_equal(found.bytes, expected);
    text_free(&found);
    fixture_close(&f);
}

static void concat_is_free(void **state)
{
    (void)state;
    check_offers(HEAD "  %c: float32[1x32x4x4] = Concat(%a, %b) {axis = 1}\n"
                      "  %y: float32[1x32x4x4] = Relu(%c)\n  output %y\n}\n",
                 "rows");
    check_offers(HEAD "  const %w: float32[8x32x1x1] = #00000000000000000000000000000001\n"
                      "  %c: float32[1x32x4x4] = Concat(%a, %b) {axis = 1}\n"
                      "  %y: float32[1x8x4x4] = Conv(%c, %w)\n  output %y\n}\n",
                 "rows,aBcd8b");
}

/* Each one begins with all of the one before it; the last one does not. */
static void dense_blocks_are_free(void **state)
{
    (void)state;
    check_offers(HEAD "  %c: float32[1x32x4x4] = Concat(%a, %b) {axis = 1}\n"
                      "  %d: float32[1x32x4x4] = Relu(%c)\n"
                      "  %e: float32[1x64x4x4] = Concat(%a, %b, %d) {axis = 1}\n"
                      "  %f: float32[1x64x4x4] = Relu(%e)\n"
                      "  %g: float32[1x128x4x4] = Concat(%a, %b, %d, %f) {axis = 1}\n"
                      "  %h: float32[1x48x4x4] = Concat(%d, %b) {axis = 1}\n"
                      "  %y: float32[1x128x4x4] = Relu(%g)\n"
                      "  %z: float32[1x48x4x4] = Relu(%h)\n  output %y\n  output %z\n}\n",
                 "rows rows rows -");
}

static void what_is_in_the_way(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "%c: float32[1x32x4x4] = Concat(%a, %x) {axis = 1}\n", /* an input */
        "%c: float32[1x32x4x4] = Concat(%a, %a) {axis = 1}\n", /* in two places */
        "%c: float32[1x16x8x4] = Concat(%a, %b) {axis = 2}\n", /* channels lie outside */
        "const %k: float32[1x16x4x4] = #00000000000000000000000000000001\n"
        "%c: float32[1x32x4x4] = Concat(%a, %k) {axis = 1}\n",
        "%v: float32[1x16x4x4] = Identity(%x)\n"
        "%c: float32[1x32x4x4] = Concat(%a, %v) {axis = 1}\n", /* a view */
        "%c: float32[1x32x4x4] = Concat(%a, %b) {axis = 1}\noutput %c\n",
        "%c: float32[1x32x4x4] = Concat(%a, %b) {axis = 1}\noutput %b\n",
    };
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        struct text text = { 0 };
        const char *output = strstr(bodies[k], "output");
        int length = output ? (int)(output - bodies[k]) : (int)strlen(bodies[k]);
        const char *type = strstr(bodies[k], "8x4] = Concat") ? "1x16x8x4" : "1x32x4x4";
        text_format(&text, "%s%.*s%%y: float32[%s] = Relu(%%c)\noutput %%y\n%s}\n", HEAD, length,
                    bodies[k], type, output ? output : "");
        check_offers(text.bytes, "-");
        text_free(&text);
    }
}

/* Parts begin at multiples of 64 bytes. */
static void parts_are_aligned(void **state)
{
    (void)state;
    check_offers("graph \"g\" {\n  input %x: float32[1x3x3x3]\n"
                 "  %a: float32[1x3x3x3] = Relu(%x)\n  %b: float32[1x3x3x3] = Tanh(%x)\n"
                 "  %c: float32[1x6x3x3] = Concat(%a, %b) {axis = 1}\n"
                 "  %y: float32[1x6x3x3] = Relu(%c)\n  output %y\n}\n",
                 "-");
}

static void cuts_are_free(void **state)
{
    (void)state;
    static const char *const inputs[] = { "%a", "%x" }; /* the second one is the model's */
    for (int k = 0; k < 2; k++) {
        struct text text = { 0 };
        text_format(&text,
                    "%s  const %%n: int64[2] = {8, 8}\n"
                    "  %%c: float32[1x8x4x4], %%d: float32[1x8x4x4] = Split(%s, %%n) {axis = 1}\n"
                    "  %%y: float32[1x8x4x4] = Relu(%%c)\n  %%z: float32[1x8x4x4] = Relu(%%d)\n"
                    "  output %%y\n  output %%z\n}\n",
                    HEAD, inputs[k]);
        check_offers(text.bytes, k ? "-" : "rows");
        text_free(&text);
    }
    check_offers(HEAD "  const %s: int64[1] = {8}\n  const %e: int64[1] = {16}\n"
                      "  const %d: int64[1] = {1}\n"
                      "  %c: float32[1x8x4x4] = Slice(%a, %s, %e, %d)\n"
                      "  %y: float32[1x8x4x4] = Relu(%c)\n  output %y\n}\n",
                 "rows");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(concat_is_free),     cmocka_unit_test(dense_blocks_are_free),
        cmocka_unit_test(what_is_in_the_way), cmocka_unit_test(parts_are_aligned),
        cmocka_unit_test(cuts_are_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
