/* SPDX-License-Identifier: Apache-2.0 */
/* Files of patterns: what is refused and how, what each feature of the language matches. */
#include "unit/pattern/sets.h"

/* ---- what is refused ---- */

#define HEAD       "collage_patterns 1\nbackend b\n"
#define BODY(text) HEAD "pattern p { " text " }"

static const struct {
    const char *text, *message; /* line and column, and what was expected */
} malformed[] = {
    { "", "f:1:1: expected 'collage_patterns', not the end of the file" },
    { "pattern", "f:1:1: expected 'collage_patterns', not 'pattern'" },
    { "collage_patterns", "f:1:17: expected the version of the format, not the end of the file" },
    { "collage_patterns 2", "f:1:18: expected version 1 of the format" },
    { "collage_patterns 1.5", "f:1:18: expected the version of the format, not '1.5'" },
    { "collage_patterns 1 99", "f:1:20: expected 'backend', 'target', 'pattern', 'chain' or "
                               "'rule', not '99'" },
    { "collage_patterns 1\npattern p { y = Relu(x) }", "f:2:1: expected 'backend' before the "
                                                       "first pattern, not 'pattern'" },
    { "collage_patterns 1 target cpu", "f:1:27: expected 'backend' before a target" },
    { "collage_patterns 1 backend 7", "f:1:28: expected the name of a backend, not '7'" },
    { "collage_patterns 1 backend a,", "f:1:30: expected the name of a backend, not the end" },
    { HEAD "target tpu", "f:3:8: expected cpu, avx2, avx512, vnni, gpu, cuda or the name of a "
                         "machine in quotes, not 'tpu'" },
    { HEAD "target cpu, \"Intel", "f:3:13: expected cpu, avx2" },
    { HEAD "pattern { }", "f:3:9: expected a name, not '{'" },
    { HEAD "chain c \"Relu\" chain c \"Relu\"", "f:3:22: expected a new name; 'c' is there" },
    { HEAD "chain c Relu", "f:3:9: expected a text in quotes, not 'Relu'" },
    { HEAD "chain c \"Relu\n", "f:3:9: expected a text in quotes, not '\"'" },
    { HEAD "chain c \"Relu Nope\"", "f:3:9: pattern 'c': column 6 of \"Relu Nope\": unknown" },
    { HEAD "pattern p", "f:3:10: expected '{', not the end of the file" },
    { HEAD "pattern p {", "f:3:12: expected a step, 'output', 'where' or '}', not the end" },
    { HEAD "pattern p { }", "f:3:11: expected a step in the pattern" },
    { BODY("= Relu(x)"), "f:3:13: expected a step, 'output', 'where' or '}', not '='" },
    { BODY("y Relu(x)"), "f:3:15: expected '=', not 'Relu'" },
    { BODY("y = x"), "f:3:17: expected an operator; 'x' is none" },
    { BODY("y = Relu"), "f:3:22: expected '(', not '}'" },
    { BODY("y = Relu(x"), "f:3:24: expected ',' or ')', not '}'" },
    { BODY("y = Relu(x,)"), "f:3:24: expected the name of a value, not ')'" },
    { BODY("y = Relu(Relu)"), "f:3:22: expected the name of a value; 'Relu' is an operator" },
    { BODY("y = Relu(where)"), "f:3:22: expected the name of a value, not 'where'" },
    { BODY("y = (Relu|Abs(x)"), "f:3:26: expected '|' or ')', not '('" },
    { BODY("y = Relu(y)"), "f:3:13: expected a new name; 'y' is in this step already" },
    { BODY("y = Relu(x) y = Abs(x)"), "f:3:25: expected a new name; 'y' is used above" },
    { BODY("y = Relu(x) z = Abs(const y)"), "f:3:39: expected an input after 'const'; 'y' is" },
    { BODY("y = Relu(x) z = Abs(y?)"), "f:3:33: expected an input before '?'; 'y' is computed" },
    { BODY("y = Concat(..., x)"), "f:3:23: expected '...' at the end of the operands, too" },
    { BODY("y = Concat(..., x?, ...)"), "f:3:23: expected no '?' between '...' and '...'" },
    { BODY("y = Concat(x, ..., z)"), "f:3:32: expected ')' after '...', not 'z'" },
    { BODY("y = Concat(xs...) z = Relu(xs)"), "f:3:40: expected one value; 'xs' stands for" },
    { BODY("y = Concat(x, x...)"), "f:3:27: expected a new name; 'x' is used above" },
    { BODY("y = Mul(x, 1e999)"), "f:3:24: expected a smaller number, not '1e999'" },
    { BODY("y = Mul(x, -)"), "f:3:25: expected a number, not ')'" },
    { BODY("y = Relu[alpha=1](x)"), "f:3:22: expected an attribute of Relu, which has no 'alpha'" },
    { BODY("y = Elu[alpha](x)"), "f:3:26: expected '=', '!=', '<', '<=', '>' or '>=', not ']'" },
    { BODY("y = Conv[strides=1](x, w)"), "f:3:30: expected '[', not '1'" },
    { BODY("y = Conv[strides<[1]](x, w)"), "f:3:30: expected a single number after '<' or '>'" },
    { BODY("y = Conv[auto_pad=VALID](x)"), "f:3:31: expected a text in quotes, not 'VALID'" },
    { BODY("y = Conv[group=1, group=1(x)"), "f:3:38: expected ',' or ']', not '('" },
    { BODY("(y, z) = Relu?(x)"), "f:3:22: expected one result of an optional step" },
    { BODY("y = Relu?(x?)"), "f:3:17: expected an operand that is always there as the first" },
    { BODY("y = Add?(x, Relu(z))"), "f:3:25: expected the name of a value: an optional step" },
    { BODY("y = Relu(x) z = Abs(w)"), "f:3:11: expected steps that values connect" },
    { BODY("c = Mul?(a, b) y = Relu(a) z = Abs(b)"), "f:3:11: expected steps that values connect, "
                                                     "also without the optional ones" },
    { BODY("y = Relu(x) output z"), "f:3:32: expected a result of a step above; 'z' is none" },
    { BODY("y = Relu(x) output x"), "f:3:32: expected a result of a step above; 'x' is an" },
    { BODY("y = Relu(x) where"), "f:3:31: expected a number or a function, not '}'" },
    { BODY("y = Relu(x) where rank(q)"), "f:3:36: expected a value of the pattern; 'q' is none" },
    { BODY("y = Relu(x) where size(x)"), "f:3:31: expected a number, a function or an element" },
    { BODY("y = Relu(x) where dim(x)"), "f:3:36: expected ',', not ')'" },
    { BODY("y = Relu(x) where rank(x) == 1.5"), "f:3:42: expected a whole number, not '1.5'" },
    { BODY("y = Relu(x) where rank(x) == "), "f:3:43: expected a number or a function, not '}'" },
    { BODY("y = Relu(x) where (rank(x)"), "f:3:40: expected ')', not '}'" },
    { BODY("y = Relu(x) where 99999999999999999999"), "f:3:31: expected a smaller number" },
    { BODY("y = Relu(x) where attr(y, shininess)"), "f:3:39: expected an attribute of whole" },
    { BODY("y = Relu(x) where count(x) > 1"), "f:3:37: expected operands with '...', which 'x'" },
    { BODY("y = Concat(xs...) where rank(xs)"), "f:3:42: expected one value, which 'xs' is not" },
    { BODY("y = Relu(x) @"), "f:3:25: expected a step, 'output', 'where' or '}', not '@'" },
    { HEAD "# a comment\n\n\tpattern p @", "f:5:12: expected '{', not '@'" },
    { HEAD "rule r { }", "f:3:8: expected 'operators' in the rule" },
    { HEAD "rule r { nodes 0 }", "f:3:16: expected a number from 1 to 16" },
    { HEAD "rule r { nodes 17 }", "f:3:16: expected a number from 1 to 16" },
    { HEAD "rule r { nodes many }", "f:3:16: expected a number of nodes, not 'many'" },
    { HEAD "rule r { shape }",
      "f:3:10: expected 'operators', 'fuse', 'nodes', 'outputs', 'whole' or '}'" },
    { HEAD "rule r { whole 65 }", "f:3:16: expected a number from 1 to 64" },
    { HEAD "rule r { operators Conv fuse Conv Relu }", "f:3:35: expected '->', not 'Relu'" },
    { HEAD "rule r { operators Conv fuse Conv -> Relu }", "f:3:38: expected operators that "
                                                          "'operators' lists above; Relu is not" },
};

static collage_status parse(const char *text, size_t length, struct pattern_file **file,
                            struct error *error)
{
    return pattern_file_parse("f", text, length, file, error);
}

static void test_malformed(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof malformed / sizeof malformed[0]; k++) {
        struct pattern_file *file;
        struct error error = { 0 };
        const char *text = malformed[k].text;
        assert_int_equal(parse(text, strlen(text), &file, &error), COLLAGE_ERROR_FORMAT);
        assert_null(file);
        if (strncmp(error.text, malformed[k].message, strlen(malformed[k].message)) != 0)
            fail_msg("%s\n  says %s\n  not %s", text, error.text, malformed[k].message);
    }
}

/* Repeats a piece of text inside of a pattern. */
static void expect_too_much(const char *before, const char *piece, size_t times, const char *after,
                            const char *message)
{
    struct text text = { 0 };
    struct pattern_file *file;
    struct error error = { 0 };
    text_string(&text, before);
    for (size_t k = 0; k < times; k++)
        text_string(&text, piece);
    text_string(&text, after);
    assert_false(text.failed);
    assert_int_equal(parse(text.bytes, text.count, &file, &error), COLLAGE_ERROR_FORMAT);
    if (!strstr(error.text, message))
        fail_msg("%s, not %s", error.text, message);
    text_free(&text);
}

static void test_limits(void **state)
{
    (void)state;
    expect_too_much(HEAD "pattern p { y = ", "Relu(", 40, "x", "fewer operators inside");
    expect_too_much(HEAD "pattern p { y = Sum(", "_, ", 100, "_) }", "at most 96 operands");
    expect_too_much(HEAD "pattern p { where ", "(", 10000, "", "fewer parentheses");
    expect_too_much(HEAD "pattern p { where ", "!", 10000, "1", "fewer parentheses");
    expect_too_much(HEAD "pattern p { where 1", "+1", 300, " }", "at most 200 terms");
    expect_too_much(HEAD "pattern p { ", "where 1 ", 33, "}", "at most 32 conditions");
    expect_too_much(HEAD "pattern p { y = (Relu", "|Relu", 64, ")(x) }", "at most 64 operators");
    expect_too_much(HEAD "pattern p { y = Conv[strides=[1", ",1", 64, "]](x) }", "64 numbers");
    expect_too_much(HEAD "pattern p { y = ", "Relu?(", 5, "x))))) }", "at most 4 optional steps");
    expect_too_much(HEAD "pattern ", "p", 64, " {", "at most 63 characters");
    expect_too_much(HEAD, "\n", 300000, "", "more than 262144 bytes");
    struct text text = { 0 };
    struct pattern_file *file;
    struct error error = { 0 };
    text_string(&text, HEAD);
    for (int k = 0; k < 257; k++)
        text_format(&text, "chain c%d \"Relu\"\n", k);
    assert_int_equal(parse(text.bytes, text.count, &file, &error), COLLAGE_ERROR_FORMAT);
    assert_string_equal(error.text,
                        "f:259:1: expected at most 256 patterns and rules in a file, not 'chain'");
    text_free(&text);
    text_string(&text, HEAD "pattern p { v0 = Relu(x)");
    for (int k = 1; k < 33; k++)
        text_format(&text, " v%d = Relu(v%d)", k, k - 1);
    error_clear(&error);
    assert_int_equal(parse(text.bytes, text.count, &file, &error), COLLAGE_ERROR_FORMAT);
    assert_non_null(strstr(error.text, "at most 32 operators"));
    text_free(&text);
}

/* Not terminated, and with bytes that are no text. */
static void test_bytes(void **state)
{
    (void)state;
    static const char zero[] = HEAD "pattern p { y = \0 Relu(x) }";
    struct pattern_file *file;
    struct error error = { 0 };
    assert_int_equal(parse(zero, sizeof zero - 1, &file, &error), COLLAGE_ERROR_FORMAT);
    assert_string_equal(error.text, "f:3:17: expected an operator, not '?'");
    error_clear(&error);
    assert_int_equal(parse(NULL, 0, &file, &error), COLLAGE_ERROR_FORMAT);
    error_clear(&error);
    static const char good[] = BODY("y = Relu(x)");
    assert_int_equal(parse(good, strlen(good) - 1, &file, &error), COLLAGE_ERROR_FORMAT);
    assert_int_equal(parse(good, strlen(good), &file, NULL), COLLAGE_OK);
    assert_int_equal(file->count, 1);
    pattern_file_destroy(file);
    pattern_file_destroy(NULL);
}

/* ---- what is matched ---- */

static const struct {
    const char *body, *wanted;
} rows[] = {
    { "y = Relu(x)", "5" },
    /* operands: all are listed, unless "?" or "..." says otherwise */
    { "y = Conv(x, w)", "3" },
    { "y = Conv(x, w, b)", "0" },
    { "y = Conv(x, w, b?)", "0 3" },
    { "y = Conv(x, ...)", "0 3" },
    { "y = Conv(...)", "0 3" },
    { "y = Conv(x, w, none)", "3" },
    { "y = Clip(x, none, hi)", "13" },
    { "y = Clip(x, lo?, hi)", "13" },
    { "y = Clip(x, lo, hi)", "" },
    { "y = Clip(x)", "" },
    /* constants */
    { "y = Conv(x, const w, const b?)", "0 3" },
    { "y = Conv(const x, ...)", "" },
    { "y = Conv(_, const ...)", "0 3" },
    { "y = Mul(x, const _)", "6" },
    { "y = Mul(x, 0.125)", "6" },
    { "y = Mul(x, 0.126)", "" },
    { "y = Mul(-0.125, x)", "" },
    /* operators in any order of operands, and those that are not */
    { "c = Conv(_, ...) y = Add(c, x)", "3,4" },
    { "c = Conv(_, ...) y = Add(x, c)", "3,4" },
    { "q = Mul(_, const _) y = Sub(q, z) output q, y", "6,7" },
    { "q = Mul(_, const _) y = Sub(z, q) output q, y", "6,8" },
    /* alternatives and attributes */
    { "y = (Relu|Sigmoid|LeakyRelu)(x)", "1 5 12" },
    { "y = Conv[group=1](x, ...)", "0 3" }, /* left out: ONNX's default */
    { "y = Conv[group=2](x, ...)", "" },
    { "y = Conv[group!=2, strides=[1, 1], pads=[1,1,1,1]](x, ...)", "0 3" },
    { "y = Conv[pads=[1,1]](x, ...)", "" },
    { "y = Conv[auto_pad=\"NOTSET\"](x, ...)", "0 3" },
    { "y = Conv[auto_pad!=\"NOTSET\"](x, ...)", "" },
    { "y = Conv[kernel_shape=[3, 3]](x, ...)", "" }, /* left out, and no constant default */
    { "y = LeakyRelu[alpha=0.01](x)", "12" },
    { "y = LeakyRelu[alpha<0.01](x)", "" },
    { "y = LeakyRelu[alpha>=0.01](x)", "12" },
    { "y = (Relu|LeakyRelu[alpha>1])(x)", "5" },
    /* diamonds, nesting, shared inputs */
    { "c = Conv(x, ...) s = Sigmoid(c) y = Mul(c, s)", "0,1,2" },
    { "c = Conv(x, ...) y = Mul(c, Sigmoid(c))", "0,1,2" },
    { "y = Mul(c, Sigmoid(c))", "1,2" },
    { "s = Sigmoid(c) y = Mul(s, s)", "" },
    { "y = Mul(c, Sigmoid(d))", "1,2" }, /* two names may mean one value */
    { "y = Add(x, c) c2 = Conv(x, ...)", "" },
    { "c = Conv(x, ...) m = Mul(c, Sigmoid(c)) d = Conv(m, ...) y = Add(x, d)", "0,1,2,3,4" },
    /* results that are used outside */
    { "c = Conv(x, ...) s = Sigmoid(c)", "" },
    { "c = Conv(x, ...) s = Sigmoid(c) output c, s", "0,1" },
    { "r = Relu(_) y = Mul(r, _)", "" },
    { "r = Relu(_) y = Mul(r, _) output r, y", "5,6" },
    { "r = Relu(_) y = Concat(..., r, ...) output r, y", "" }, /* a path leaves and comes back */
    /* several roots */
    { "e = Sub(q, z) f = Sub(z, q)", "7,8" },
    { "q = Mul(_, const _) e = Sub(q, z)", "" },
    { "q = Mul(_, const _) e = Sub(q, z) f = Sub(z, q)", "6,7,8" },
    /* several results of one node */
    { "(a, b) = Split(_, ...) y = Mul(a, b)", "9,10" },
    { "(a, b) = Split(_, ...) y = Mul(b, a)", "9,10" },
    { "(a, _) = Split(_, ...) y = Mul(a, z)", "" }, /* z would be made inside */
    { "(a, b, c) = Split(_, ...)", "" },
    { "(a, b) = Split(_, ...)", "9" },
    { "(_, b) = Split(_, ...)", "" }, /* the first is used outside */
    /* any number of operands */
    { "y = Concat(f, ...)", "11" },
    { "f = Sub(_, _) y = Concat(f, ...)", "8,11" },
    { "f = Sub(_, _) y = Concat(_, f, ...)", "" },
    { "f = Sub(_, _) y = Concat(..., f, ...)", "8,11" },
    { "f = Sub(_, _) y = Concat(..., f, r, ...)", "8,11" },
    { "f = Sub(_, _) y = Concat(..., r, f, ...)", "" },
    { "y = Concat(f, rest...) where count(rest) == 2", "11" },
    { "y = Concat(f, rest...) where count(rest) < 2", "" },
    { "y = Concat(f, const rest...)", "" },
    /* optional steps */
    { "r = Relu?(Add(_, _)) y = Mul(r, _)", "" },
    { "r = Relu?(Add(_, _))", "4 4,5" },
    { "t = LeakyRelu?(g) y = Clip(t, ...)", "12,13 13" },
    { "a = Add?(Conv(_, ...), res) y = Relu?(a)", "0 3 3,4 3,4,5" },
    { "a = Add?(Conv(_, ...), res) where rank(res) == 4", "3,4" },
    { "a = Add?(Conv(_, ...), res) where !present(res) || rank(res) == 3", "0 3" },
};

static void test_features(void **state)
{
    (void)state;
    struct graph *graph = parse_graph(features);
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct text text = { 0 };
        text_format(&text, "pattern p { %s }", rows[k].body);
        expect_sets(graph, text.bytes, rows[k].wanted);
        text_free(&text);
    }
    graph_destroy(graph);
}

/* Each over the one Relu, whose operand has the shape 1x4x6x6. */
static const struct {
    const char *condition;
    bool holds;
} conditions[] = {
    { "1", true },
    { "0", false },
    { "!0", true },
    { "dim(x, 1) == 4 && dim(x, -1) == 6", true },
    { "dim(x, 1) % 16 == 0", false },
    { "dim(x, 1) % 4 == 0", true },
    { "dim(x, 4) == 4", false },
    { "!(dim(x, 4) == 4)", false }, /* what is not there makes nothing hold */
    { "rank(x) == 5 && dim(x, 4) == 4 || rank(x) == 4", true },
    { "rank(x) == 4 || dim(x, 4) == 4", true },
    { "dim(x, 4) == 4 || rank(x) == 4", false },
    { "dim(x, rank(x) - 1) == 6", true },
    { "elements(x) == 4 * 6 * 6", true },
    { "bytes(x) == 4 * elements(x)", true },
    { "dtype(x) == float32", true },
    { "dtype(x) != float32 || dtype(x) == int8", false },
    { "uses(x) == 1 && uses(y) == 2", true },
    { "constant(x)", false },
    { "output(y)", false },
    { "present(x)", true },
    { "1 + 2 * 3 == 7 && (1 + 2) * 3 == 9 && 7 - 2 - 1 == 4", true },
    { "-3 / 2 == -1 && -3 % 2 == -1 && - -3 == 3", true },
    { "1 / 0 == 0", false },
    { "1 % (rank(x) - 4) == 0", false },
    { "9223372036854775807 + 1 < 0", false },
    { "9223372036854775807 * 2 != 0", false },
    { "1 < 2 && 2 <= 2 && 3 > 2 && 2 >= 2 && 1 != 2 && 1 = 1", true },
    { "attr(a, axis) == 0", false }, /* Add has none */
    { "attr(x, axis) == 0", false },
};

static void test_conditions(void **state)
{
    (void)state;
    struct graph *graph = parse_graph(features);
    for (size_t k = 0; k < sizeof conditions / sizeof conditions[0]; k++) {
        struct text text = { 0 };
        bool of_add = strstr(conditions[k].condition, "(a,") != NULL;
        text_format(&text, "pattern p { %s y = Relu(%s) where %s }", of_add ? "a = Add(_, _)" : "",
                    of_add ? "a" : "x", conditions[k].condition);
        expect_sets(graph, text.bytes, conditions[k].holds ? of_add ? "4,5" : "5" : "");
        text_free(&text);
    }
    expect_sets(graph, "pattern p { y = Conv(x, ...) where attr(y, pads, 3) == 1 }", "0 3");
    expect_sets(graph, "pattern p { y = Conv(x, ...) where attr(y, pads, 4) == 1 }", "");
    expect_sets(graph, "pattern p { y = Conv(x, ...) where attr(y, group) == 1 }", "0 3");
    expect_sets(graph, "pattern p { y = Concat(...) where output(y) && uses(y) == 1 }", "11");
    graph_destroy(graph);
}

/* A hostile pattern on a hostile graph: ends, and says that it was cut off. */
static void test_bounded(void **state)
{
    (void)state;
    struct text text = { 0 };
    text_string(&text, "graph \"wide\" {\n  input %x: float32[4]\n");
    for (int k = 0; k < 60; k++)
        text_format(&text, "  %%v%d: float32[4] = Relu(%%x)\n  output %%v%d\n", k, k);
    text_string(&text, "}\n");
    struct graph *graph = parse_graph(text.bytes);
    text_free(&text);
    text_string(&text, "pattern p {");
    for (int k = 0; k < 20; k++)
        text_format(&text, " y%d = Relu(x)", k);
    text_string(&text, " where 0 == dim(y18, 0) }");
    struct pattern_file *file = parse_entries(text.bytes);
    struct text sets = { 0 };
    bool cut_off;
    list_sets(&file->entries[0], graph, &sets, &cut_off);
    assert_true(cut_off);
    assert_int_equal(sets.count, 0);
    pattern_file_destroy(file);
    text_free(&text);
    text_free(&sets);
    graph_destroy(graph);
}

/* ---- candidates ---- */

static void test_targets(void **state)
{
    (void)state;
    struct pattern_file *file = parse_entries("target cpu, avx512 chain c \"Relu\"\n"
                                              "backend graphs, plain chain d \"Relu\"\n"
                                              "target \"Intel*\", avx2 chain e \"Relu\"\n"
                                              "target \"*8 cores\" chain f \"Relu\"\n"
                                              "backend plain target gpu chain g \"Relu\"");
    const struct pattern_entry *entries = file->entries;
    const collage_target avx2 = { .struct_size = sizeof avx2, .avx2 = true };
    const collage_target avx512 = { .struct_size = sizeof avx512, .avx2 = true, .avx512 = true };
    const struct pattern_target small = { &avx2, "Intel(R) Xeon(R), 2 cores", "0123" };
    const struct pattern_target large = { &avx512, "Intel(R) Xeon(R), 8 cores", "4567" };
    const struct pattern_target other = { &avx512, "AMD EPYC, 8 cores", "89ab" };
    const struct pattern_target unknown = { &avx512, NULL, NULL };
    struct text text = { 0 };
    assert_false(pattern_entry_fits(&entries[0], "chains", &small));
    assert_true(pattern_entry_fits(&entries[0], "chains", &large));
    assert_false(pattern_entry_fits(&entries[0], "graphs", &large));
    assert_true(pattern_entry_fits(&entries[1], "graphs", &small));
    assert_true(pattern_entry_fits(&entries[1], "plain", &small));
    assert_false(pattern_entry_fits(&entries[1], "chains", &small));
    assert_true(pattern_entry_fits(&entries[2], "plain", &small));
    assert_false(pattern_entry_fits(&entries[2], "plain", &other));
    assert_false(pattern_entry_fits(&entries[2], "plain", &unknown));
    assert_true(pattern_entry_fits(&entries[3], "plain", &large)); /* both globs hold */
    assert_false(pattern_entry_fits(&entries[3], "plain", &small));
    assert_false(pattern_entry_fits(&entries[3], "plain", &other));
    assert_false(pattern_entry_fits(&entries[4], "plain", &large)); /* no target has a GPU yet */
    for (size_t k = 0; k < 4; k++) {
        pattern_entry_print_target(&entries[k], &text);
        text_string(&text, "; ");
    }
    assert_string_equal(text.bytes,
                        "cpu avx512; any; avx2 \"Intel*\"; avx2 \"Intel*\" \"*8 cores\"; ");
    text_free(&text);
    pattern_file_destroy(file);
}

/* What the backend refuses ("chains" has no subtraction) does not become a candidate. */
static void test_candidates(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, features);
    struct pattern_file *file =
        parse_entries("pattern silu { c = Conv(x, ...) y = Mul(c, Sigmoid(c)) }\n"
                      "pattern both { q = Mul(_, const _) e = Sub(q, z) f = Sub(z, q) }\n"
                      "backend graphs\n"
                      "pattern apart { q = Mul(_, const _) f = Sub(z, q) output q, f }\n"
                      "backend nobody\n"
                      "pattern all { y = Relu(x) }\n");
    const bool enabled[BACKENDS] = { true, true, false };
    f.set->files = &file;
    f.set->file_count = 1;
    assert_int_equal(candidate_set_enumerate(f.set, enabled, NULL), COLLAGE_OK);
    assert_int_equal(COUNT(&f, CHAINS, 0, 1, 2), 2); /* in both layouts */
    assert_int_equal(COUNT(&f, CHAINS, 6, 7, 8), 0);
    assert_int_equal(COUNT(&f, GRAPHS, 6, 8), 0); /* not enabled */
    assert_int_equal(COUNT(&f, CHAINS, 5), 0);    /* for another backend */
    bool named = false;
    for (size_t c = 0; c < f.set->count; c++)
        named = named || strcmp(f.set->items[c].pattern, "silu") == 0;
    assert_true(named);
    candidate_set_destroy(f.set);
    collage_target target = { .struct_size = sizeof target, .threads = 1 };
    assert_int_equal(candidate_set_create(f.graph, &f.registry, &target, &f.set, NULL), COLLAGE_OK);
    const bool graphs[BACKENDS] = { false, false, true };
    f.set->files = &file;
    f.set->file_count = 1;
    assert_int_equal(candidate_set_enumerate(f.set, graphs, NULL), COLLAGE_OK);
    assert_int_equal(COUNT(&f, GRAPHS, 6, 8), 1);
    pattern_file_destroy(file);
    fixture_close(&f);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    static const char text[] =
        BODY("c = Conv[pads=[1, 1]](x, const w, b?) r = Relu?(c) "
             "y = Concat(r, xs...) where count(xs) > rank(x) + 1") "\n"
                                                                   "chain c \"Conv Relu\"\n"
                                                                   "rule r { operators Conv, Relu "
                                                                   "fuse Conv -> Relu }\n";
    struct graph *graph = parse_graph(features);
    struct graph_uses uses;
    struct text sets = { 0 };
    assert_int_equal(graph_uses_build(graph, &uses, NULL), COLLAGE_OK);
    collage_status status = COLLAGE_ERROR_MEMORY;
    size_t n = 1;
    for (; status == COLLAGE_ERROR_MEMORY && n < 10000; n++) {
        struct pattern_file *file;
        struct error error = { 0 };
        bool cut_off;
        sets.count = 0;
        memory_fail_after(n);
        status = parse(text, strlen(text), &file, &error);
        for (uint32_t k = 0; status == COLLAGE_OK && k < file->count; k++)
            status = pattern_entry_match(&file->entries[k], graph, &uses, record_set, &sets,
                                         &cut_off, &error);
        memory_fail_after(0);
        assert_int_equal(status, error.status);
        pattern_file_destroy(file);
        text_free(&sets);
    }
    assert_int_equal(status, COLLAGE_OK);
    assert_true(n > 5);
    graph_uses_free(&uses);
    graph_destroy(graph);
}

/* ---- the example of docs/patterns.md ---- */

static const char example[] =
    "graph \"example\" {\n"
    "  input %x: float32[1x16x8x8]\n"
    "  input %t: float32[4x16]\n"
    "  const %w: float32[16x16x1x1] = #0123456789abcdef0123456789abcdef\n"
    "  const %m: float32[16x16] = #0123456789abcdef0123456789abcdef\n"
    "  const %zero: float32[] = {0}\n"
    "  const %six: float32[] = {6}\n"
    "  %c0: float32[1x16x8x8] = Conv(%x, %w)\n"             /* 0: conv_add */
    "  %a0: float32[1x16x8x8] = Add(%x, %c0)\n"             /* 1 */
    "  %r0: float32[1x16x8x8] = Relu(%a0)\n"                /* 2 */
    "  %p: float32[1x16x1x1] = GlobalAveragePool(%r0)\n"    /* 3: squeeze_excite */
    "  %c1: float32[1x16x1x1] = Conv(%p, %w)\n"             /* 4 */
    "  %r1: float32[1x16x1x1] = Relu(%c1)\n"                /* 5 */
    "  %c2: float32[1x16x1x1] = Conv(%r1, %w)\n"            /* 6 */
    "  %s: float32[1x16x1x1] = Sigmoid(%c2)\n"              /* 7 */
    "  %y0: float32[1x16x8x8] = Mul(%s, %r0)\n"             /* 8 */
    "  %c3: float32[1x16x8x8] = Conv(%y0, %w)\n"            /* 9: dense_layer */
    "  %d: float32[1x32x8x8] = Concat(%y0, %c3) {axis=1}\n" /* 10 */
    "  %q: float32[4x16] = MatMul(%t, %m)\n"                /* 11: query_key_value */
    "  %k: float32[4x16] = MatMul(%t, %m)\n"                /* 12 */
    "  %v: float32[4x16] = MatMul(%t, %m)\n"                /* 13 */
    "  %h: float32[4x8], %i: float32[4x8] = Split(%q) {axis=1, num_outputs=2}\n" /* 14 */
    "  %j: float32[4x8] = Sigmoid(%i)\n"     /* 15: split_gate */
    "  %g: float32[4x8] = Mul(%j, %h)\n"     /* 16 */
    "  %n: float32[4x16] = Max(%zero, %k)\n" /* 17: clamp */
    "  %o: float32[4x16] = Min(%n, %six)\n"  /* 18 */
    "  output %d\n"
    "  output %g\n"
    "  output %o\n"
    "  output %v\n"
    "}\n";

static const struct {
    const char *name, *wanted;
} example_sets[] = {
    { "conv_add", "0,1 0,1,2" },
    { "squeeze_excite", "3,4,5,6,7,8" },
    { "query_key_value", "11,12,13" },
    { "split_gate", "14,15,16" },
    { "dense_layer", "9,10" },
    { "clamp", "17,18" },
    { "conv_tail", "0 0,1 0,1,2 4 4,5 6 6,7 6,7,8 9" },
    { "pointwise_tail", "0 1 2 4 5 6 7 8 9 11 12 13 15 16 0,1 1,2 4,5 6,7 0,1,2" },
};

static void test_example(void **state)
{
    (void)state;
    struct pattern_file *file;
    struct error error = { 0 };
    struct graph *graph = parse_graph(example);
    if (pattern_file_load(COLLAGE_EXAMPLES "/fusions.patterns", &file, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(file->count, sizeof example_sets / sizeof example_sets[0]);
    for (uint32_t k = 0; k < file->count; k++) {
        struct text text = { 0 };
        bool cut_off;
        assert_string_equal(file->entries[k].name, example_sets[k].name);
        list_sets(&file->entries[k], graph, &text, &cut_off);
        if (strcmp(text.bytes ? text.bytes : "", example_sets[k].wanted) != 0)
            fail_msg("%s: %s", example_sets[k].name, text.bytes ? text.bytes : "nothing");
        text_free(&text);
    }
    pattern_file_destroy(file);
    graph_destroy(graph);
    assert_int_equal(pattern_file_load("no-such.patterns", &file, &error), COLLAGE_ERROR_IO);
    assert_null(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_malformed),     cmocka_unit_test(test_limits),
        cmocka_unit_test(test_bytes),         cmocka_unit_test(test_features),
        cmocka_unit_test(test_conditions),    cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_targets),       cmocka_unit_test(test_candidates),
        cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_example),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
