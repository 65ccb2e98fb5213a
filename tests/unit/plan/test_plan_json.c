/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/run/fake.h"

#include <sys/stat.h>
#include <unistd.h>

#define FOLDER COLLAGE_TEST_DATA "/plan-json"

struct sample {
    struct graph *graph;
    struct fake f;
    struct plan *plan;
};

/* A plan with a reorder, a view, an in-place output, copies, two backends, results and evidence. */
static void sample_setup(struct sample *s)
{
    static struct plan_result results[] = {
        { .name = "mix",
          .note = "",
          .chosen = true,
          .minimum_ns = 1e6,
          .median_ns = 1.1e6,
          .low_ns = 1.05e6,
          .high_ns = 1.15e6,
          .ratio = 1,
          .ratio_low = 1,
          .ratio_high = 1,
          .predicted_ns = 1.2e6,
          .steps_ns = 1.25e6,
          .worst_error = 1e-7,
          .peak_bytes = 1 << 20 },
        { .name = "alpha",
          .note = "with beta for Gather",
          .minimum_ns = 2e6,
          .median_ns = 2.2e6,
          .low_ns = 2.1e6,
          .high_ns = 2.3e6,
          .ratio = 2,
          .ratio_low = 1.9,
          .ratio_high = 2.1,
          .peak_bytes = 1 << 21 },
    };
    struct tensor image = fake_image(), matrix = fake_matrix();
    s->graph = fake_graph();
    value_id in = fake_value(s->graph, VALUE_INPUT, &image);
    value_id other = fake_value(s->graph, VALUE_INPUT, &matrix);
    value_id a = fake_node(s->graph, FAKE_RELU, in, 0, NULL);
    value_id view = fake_node(s->graph, FAKE_RESHAPE, a, 0, &matrix);
    value_id b = fake_node(s->graph, FAKE_ADD, view, other, NULL);
    value_id c = fake_node(s->graph, FAKE_RELU, b, 0, NULL);
    fake_ports(s->graph, (value_id[]){ in, other }, 2, (value_id[]){ c, other, c }, 3);
    fake_setup(&s->f, s->graph);
    for (node_id n = 0; n < 4; n++)
        fake_choose(&s->f, n > 0, n == 0, n == 1, &n, 1);
    s->plan = fake_build(&s->f);
    s->plan->device_name = "a machine";
    s->plan->results = results;
    s->plan->result_count = 2;
    s->plan->evidence = json_pack("{s:i,s:f}", "measured", 17, "seconds", 2.5);
}

static void sample_teardown(struct sample *s)
{
    plan_destroy(s->plan);
    fake_teardown(&s->f);
    graph_destroy(s->graph);
}

static char *dump(const struct plan *plan, const struct graph *graph)
{
    json_t *json;
    OK(plan_to_json(plan, graph, &json, NULL));
    char *text = json_dumps(json, 0);
    json_decref(json);
    return text;
}

static void check_same_memory(const struct plan *a, const struct plan *b)
{
    assert_int_equal(a->arena_bytes, b->arena_bytes);
    assert_int_equal(a->tensor_count, b->tensor_count);
    for (uint32_t t = 0; t < a->tensor_count; t++) {
        assert_int_equal(a->tensors[t].offset, b->tensors[t].offset);
        assert_int_equal(a->tensors[t].bytes, b->tensors[t].bytes);
    }
}

static void round_trip(void **state)
{
    (void)state;
    struct sample s;
    sample_setup(&s);
    struct error error = { 0 };
    OK(file_make_directory(FOLDER, &error));
    OK(plan_save(s.plan, s.graph, FOLDER "/a.json", &error));
    json_t *json;
    OK(plan_read(FOLDER "/a.json", &json, &error));
    struct plan *plan;
    if (plan_from_json(json, s.graph, &plan, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    char *before = dump(s.plan, s.graph), *after = dump(plan, s.graph);
    assert_string_equal(before, after);
    check_same_memory(s.plan, plan);
    plan_destroy(plan);
    OK(plan_from_json(json, NULL, &plan, &error)); /* the header alone */
    assert_int_equal(plan->step_count, 0);
    assert_int_equal(plan->shape_count, 2);
    assert_string_equal(plan->shapes[1].name, "v1");
    assert_int_equal(plan->threads, 1);
    plan_destroy(plan);
    json_decref(json);
    free(before);
    free(after);
    sample_teardown(&s);
}

/* ---- one thing wrong, one message ---- */

static void reject(const struct sample *s, json_t *json, collage_status status, const char *words)
{
    struct plan *plan = NULL;
    struct error error = { 0 };
    assert_int_equal(plan_from_json(json, s->graph, &plan, &error), status);
    assert_null(plan);
    if (!strstr(error.text, words))
        fail_msg("'%s' does not say '%s'", error.text, words);
    json_decref(json);
}

static json_t *fresh(const struct sample *s)
{
    json_t *json, *copy;
    OK(plan_to_json(s->plan, s->graph, &json, NULL));
    copy = json_deep_copy(json); /* evidence is shared otherwise */
    json_decref(json);
    return copy;
}

static json_t *with(const struct sample *s, const char *list, size_t index, const char *member,
                    json_t *value)
{
    json_t *json = fresh(s);
    json_t *object = list ? json_array_get(json_object_get(json, list), index) : json;
    if (value)
        assert_int_equal(json_object_set_new(object, member, value), 0);
    else
        assert_int_equal(json_object_del(object, member), 0);
    return json;
}

static void messages(void **state)
{
    (void)state;
    struct sample s;
    sample_setup(&s);
    reject(&s, json_array(), COLLAGE_ERROR_FORMAT, "this is not a plan");
    reject(&s, with(&s, NULL, 0, "format", json_string("x")), COLLAGE_ERROR_FORMAT, "not a plan");
    reject(&s, with(&s, NULL, 0, "version", json_integer(2)), COLLAGE_ERROR_UNSUPPORTED,
           "plan version 2 is unknown, this Collage reads version 1");
    reject(&s, with(&s, NULL, 0, "threads", json_integer(0)), COLLAGE_ERROR_FORMAT, "0 threads");
    reject(&s, with(&s, NULL, 0, "threads", NULL), COLLAGE_ERROR_FORMAT, "has no 'threads'");
    reject(&s, with(&s, NULL, 0, "extra", json_null()), COLLAGE_ERROR_FORMAT, "do not belong");
    reject(&s, with(&s, "steps", 0, "kind", json_string("run")), COLLAGE_ERROR_FORMAT,
           "'run' is no kind of step");
    reject(&s, with(&s, "steps", 1, "backend", json_string("gamma")), COLLAGE_ERROR_FORMAT,
           "'gamma' is not in its list");
    reject(&s, with(&s, "steps", 1, "operators", json_pack("[s]", "Conv")), COLLAGE_ERROR_FORMAT,
           "node 0 is Relu, not Conv");
    reject(&s, with(&s, "steps", 1, "inputs", json_pack("[i]", 99)), COLLAGE_ERROR_FORMAT,
           "a tensor is out of range");
    reject(&s, with(&s, "steps", 1, "nodes", json_pack("[i]", -1)), COLLAGE_ERROR_FORMAT,
           "a node is out of range");
    reject(&s, with(&s, "tensors", 0, "shares", json_integer(0)), COLLAGE_ERROR_FORMAT,
           "a share is out of range");
    reject(&s, with(&s, "tensors", 0, "layout", json_string("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")),
           COLLAGE_ERROR_FORMAT, "the layout of tensor 0 is too long");
    json_t *other = fresh(&s);
    json_object_set_new(json_object_get(other, "model"), "graph",
                        json_string("00000000000000000000000000000001"));
    reject(&s, other, COLLAGE_ERROR_MISMATCH, "another model or other shapes");
    sample_teardown(&s);
}

static struct plan *read_plan(const struct sample *s, const json_t *json)
{
    struct plan *plan = NULL;
    struct error error = { 0 };
    if (plan_from_json(json, s->graph, &plan, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    return plan;
}

/* "lanes" and "lane" are there only if steps run side by side. */
static void lanes_are_read_strictly(void **state)
{
    (void)state;
    struct sample s;
    sample_setup(&s);
    json_t *json = fresh(&s);
    assert_null(json_object_get(json, "lanes"));
    for (size_t k = 0; k < json_array_size(json_object_get(json, "steps")); k++)
        assert_null(json_object_get(json_array_get(json_object_get(json, "steps"), k), "lane"));
    json_decref(json);
    s.plan->threads = 4;
    reject(&s, with(&s, NULL, 0, "lanes", json_integer(1)), COLLAGE_ERROR_FORMAT,
           "1 lanes of 4 threads");
    reject(&s, with(&s, NULL, 0, "lanes", json_integer(5)), COLLAGE_ERROR_FORMAT,
           "5 lanes of 4 threads");
    reject(&s, with(&s, NULL, 0, "lanes", json_integer(-2)), COLLAGE_ERROR_FORMAT, "-2 lanes");
    reject(&s, with(&s, NULL, 0, "lanes", json_string("2")), COLLAGE_ERROR_FORMAT, "wrong type");
    reject(&s, with(&s, NULL, 0, "lanes", json_null()), COLLAGE_ERROR_FORMAT, "wrong type");
    reject(&s, with(&s, "steps", 1, "lane", json_integer(0)), COLLAGE_ERROR_FORMAT,
           "a lane is out of range");
    s.plan->lanes = 2;
    s.plan->steps[1].lane = 1;
    reject(&s, with(&s, "steps", 1, "lane", json_integer(2)), COLLAGE_ERROR_FORMAT,
           "a lane is out of range");
    reject(&s, with(&s, "steps", 1, "lane", json_integer(-1)), COLLAGE_ERROR_FORMAT,
           "a lane is out of range");
    reject(&s, with(&s, "steps", 1, "lane", json_null()), COLLAGE_ERROR_FORMAT, "wrong type");
    reject(&s, with(&s, NULL, 0, "standalone", json_true()), COLLAGE_ERROR_FORMAT,
           "one library should run the whole model");
    json = fresh(&s);
    struct plan *plan = read_plan(&s, json);
    assert_int_equal(plan->lanes, 2);
    assert_int_equal(plan->steps[1].lane, 1);
    assert_int_equal(plan->steps[0].lane, PLAN_WIDE);
    plan_destroy(plan);
    s.plan->lanes = 17; /* as only a program can make it */
    s.plan->threads = 100;
    assert_int_equal(plan_verify(s.plan, s.graph, NULL), COLLAGE_ERROR_FORMAT);
    s.plan->lanes = 2;
    s.plan->steps[1].lane = 2;
    assert_int_equal(plan_verify(s.plan, s.graph, NULL), COLLAGE_ERROR_FORMAT);
    json_decref(json);
    sample_teardown(&s);
}

/* "objects" may be left out; else it holds names and hashes, and survives a round trip. */
static void objects_are_read_strictly(void **state)
{
    (void)state;
    static const char hash[] = "6923dd1bc0460082c5d55a831908c24a282860b7f1cd6c2b79cf1bc8857c639c";
    struct sample s;
    sample_setup(&s);
    json_t *json = fresh(&s), *objects = json_pack("[{s:s,s:s}]", "name", "k.so", "sha256", hash);
    assert_null(json_object_get(json, "objects"));
    json_object_set(json, "objects", objects);
    struct plan *plan;
    struct error error = { 0 };
    if (plan_from_json(json, s.graph, &plan, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(plan->object_count, 1);
    assert_string_equal(plan->objects[0].name, "k.so");
    assert_string_equal(plan->objects[0].sha256, hash);
    json_t *again;
    OK(plan_to_json(plan, s.graph, &again, NULL));
    assert_true(json_equal(json_object_get(again, "objects"), objects));
    json_decref(again);
    plan_destroy(plan);
    json_decref(json);
    json_decref(objects);
    static const struct {
        const char *list, *words;
    } bad[] = {
        { "{}", "wrong type" },
        { "null", "wrong type" },
        { "[1]", "is not an object" },
        { "[{\"name\":\"k.so\"}]", "has no 'sha256'" },
        { "[{\"name\":\"k.so\",\"sha256\":\"@\",\"x\":1}]", "do not belong" },
        { "[{\"name\":\"k.so\",\"sha256\":\"12\"}]", "has no SHA-256" },
        { "[{\"name\":\"k.so\",\"sha256\":\"G@\"}]", "has no SHA-256" },
        { "[{\"name\":\"../k.so\",\"sha256\":\"@\"}]", "no plain name" },
        { "[{\"name\":\"\",\"sha256\":\"@\"}]", "no plain name" },
        { "[{\"name\":\"k\",\"sha256\":\"@\"},{\"name\":\"k\",\"sha256\":\"@\"}]",
          "is there twice" },
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        char text[512];
        size_t used = 0;
        for (const char *at = bad[k].list; *at; at++) { /* '@': the hash */
            char one[2] = { *at, 0 };
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s", *at == '@' ? hash : one);
        }
        json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
        assert_non_null(value);
        reject(&s, with(&s, NULL, 0, "objects", value), COLLAGE_ERROR_FORMAT, bad[k].words);
    }
    json_t *many = json_array();
    for (int k = 0; k < 1025; k++)
        json_array_append_new(many, json_null());
    reject(&s, with(&s, NULL, 0, "objects", many), COLLAGE_ERROR_FORMAT, "at most 1024 can be");
    sample_teardown(&s);
}

static void files_that_are_no_plans(void **state)
{
    (void)state;
    json_t *json;
    struct error error = { 0 };
    OK(file_make_directory(FOLDER, NULL));
    assert_int_equal(plan_read(FOLDER "/none.json", &json, &error), COLLAGE_ERROR_IO);
    static const char *const texts[] = { "", "{\"a\": 1,", "\x7f\x45LF", "{\"a\":1,\"a\":2}" };
    for (int k = 0; k < 4; k++) {
        OK(file_write(FOLDER "/bad.json", texts[k], strlen(texts[k]), NULL));
        error_clear(&error);
        assert_int_equal(plan_read(FOLDER "/bad.json", &json, &error), COLLAGE_ERROR_FORMAT);
        assert_non_null(strstr(error.text, "bad.json' is no plan: line"));
        assert_null(json);
    }
}

/* ---- mutations: never a crash, always a clear error or a valid plan ---- */

static void try_text(const struct sample *s, const char *text, size_t bytes, uint32_t *accepted)
{
    json_error_t problem;
    json_t *json = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &problem);
    if (!json)
        return;
    struct plan *plan = NULL;
    struct error error = { 0 };
    collage_status status = plan_from_json(json, s->graph, &plan, &error);
    if (status == COLLAGE_OK) {
        OK(plan_verify(plan, s->graph, NULL));
        ++*accepted;
    } else {
        assert_null(plan);
        assert_true(error.status == status && error.text[0]);
    }
    plan_destroy(plan);
    json_decref(json);
}

static void mutated_texts(void **state)
{
    (void)state;
    static const char bytes[] = "0123456789-,:[]{}\"anetf.x ";
    struct sample s;
    sample_setup(&s);
    char *text = dump(s.plan, s.graph);
    size_t length = strlen(text);
    uint64_t seed = 7;
    uint32_t accepted = 0;
    for (int trial = 0; trial < 6000; trial++) {
        char *copy = fake_copy(text, length);
        size_t start = length * (size_t)(splitmix64(&seed) % 3) / 3; /* steps and tensors as well */
        for (uint64_t edits = 1 + splitmix64(&seed) % 3; edits > 0; edits--)
            copy[start + splitmix64(&seed) % (length - start)] =
                bytes[splitmix64(&seed) % (sizeof bytes - 1)];
        try_text(&s, copy, length, &accepted);
        free(copy);
    }
    assert_true(accepted > 0);
    free(text);
    sample_teardown(&s);
}

/* Every number and word of the steps and tensors replaced by others that could stand there. */
static void mutated_members(void **state)
{
    (void)state;
    static const char *const lists[] = { "steps", "tensors", "backends", "results" };
    struct sample s;
    sample_setup(&s);
    uint32_t accepted = 0;
    for (int l = 0; l < 4; l++) {
        json_t *whole = fresh(&s), *list = json_object_get(whole, lists[l]);
        for (size_t k = 0; k < json_array_size(list); k++) {
            const char *key;
            json_t *value;
            json_object_foreach(json_array_get(list, k), key, value)
            {
                json_t *others[] = {
                    json_null(),           json_integer(0),         json_integer(1),
                    json_integer(3),       json_integer(-1),        json_integer(INT64_MAX),
                    json_string(""),       json_string("aBcd4b"),   json_string("acdb"),
                    json_string("output"), json_string("arena"),    json_string("copy"),
                    json_pack("[i]", 0),   json_pack("[ii]", 0, 1), json_pack("[i]", 4),
                    json_array(),          json_object(),           json_true()
                };
                for (size_t o = 0; o < sizeof others / sizeof *others; o++) {
                    json_t *json = with(&s, lists[l], k, key, others[o]);
                    char *text = json_dumps(json, 0);
                    try_text(&s, text, strlen(text), &accepted);
                    free(text);
                    json_decref(json);
                }
            }
        }
        json_decref(whole);
    }
    assert_true(accepted > 0);
    sample_teardown(&s);
}

/* ---- where the model lies ---- */

static void check_model_path(struct sample *s, const char *model, const char *plan_file,
                             const char *stored)
{
    char path[4096];
    json_t *json;
    struct error error = { 0 };
    s->plan->model_path = model;
    OK(plan_save(s->plan, s->graph, plan_file, &error));
    OK(plan_read(plan_file, &json, &error));
    const char *found = json_string_value(json_object_get(json_object_get(json, "model"), "path"));
    assert_string_equal(found, stored);
    OK(plan_model_path(json, plan_file, path, sizeof path, &error));
    if (file_exists(model))
        assert_true(file_exists(path));
    else
        assert_string_equal(path, model);
    assert_int_equal(plan_model_path(json, plan_file, path, 5, &error), COLLAGE_ERROR_FORMAT);
    json_decref(json);
}

static void model_is_found_from_the_plan(void **state)
{
    (void)state;
    struct sample s;
    sample_setup(&s);
    OK(file_make_directory(FOLDER "/plans/deep", NULL));
    OK(file_make_directory(FOLDER "/models", NULL));
    OK(file_write(FOLDER "/models/m.onnx", "x", 1, NULL));
    OK(file_write(FOLDER "/plans/deep/m.onnx", "x", 1, NULL));
    check_model_path(&s, FOLDER "/models/m.onnx", FOLDER "/p.json", "models/m.onnx");
    check_model_path(&s, FOLDER "/models/m.onnx", FOLDER "/models/p.json", "m.onnx");
    check_model_path(&s, FOLDER "/models/m.onnx", FOLDER "/plans/p.json", "../models/m.onnx");
    check_model_path(&s, FOLDER "/models/../models/./m.onnx", FOLDER "/plans//p.json",
                     "../models/m.onnx");
    check_model_path(&s, FOLDER "/models/m.onnx", FOLDER "/plans/deep/p.json",
                     FOLDER "/models/m.onnx");
    check_model_path(&s, "/no/such/model.onnx", FOLDER "/p.json", "/no/such/model.onnx");
    assert_int_equal(chdir(FOLDER), 0);
    check_model_path(&s, "models/m.onnx", "p.json", "models/m.onnx");
    check_model_path(&s, "models/m.onnx", "plans/p.json", "../models/m.onnx");
    /* A folder that is a link: ".." does not lead back. */
    (void)unlink("link");
    assert_int_equal(symlink("plans/deep", "link"), 0);
    check_model_path(&s, "models/m.onnx", "link/p.json", FOLDER "/models/m.onnx");
    sample_teardown(&s);
}

/* "precision" may be left out; else it is "strict", and survives a round trip. */
static void precision_is_read_strictly(void **state)
{
    (void)state;
    struct sample s;
    struct plan *plan;
    struct error error = { 0 };
    sample_setup(&s);
    json_t *json = fresh(&s);
    assert_null(json_object_get(json, "precision"));
    json_object_set_new(json, "precision", json_string("strict"));
    if (plan_from_json(json, s.graph, &plan, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    json_decref(json);
    assert_true(plan->strict);
    OK(plan_to_json(plan, s.graph, &json, NULL));
    plan_destroy(plan);
    assert_string_equal(json_string_value(json_object_get(json, "precision")), "strict");
    json_object_set_new(json, "precision", json_string("default"));
    assert_int_equal(plan_from_json(json, s.graph, &plan, &error), COLLAGE_ERROR_FORMAT);
    assert_non_null(strstr(error.text, "precision"));
    json_decref(json);
    sample_teardown(&s);
}

/* "schedule" may be left out; else it is a short text of a kernel, and survives a round trip. */
static void schedules_are_read_strictly(void **state)
{
    (void)state;
    struct sample s;
    struct plan *plan;
    struct error error = { 0 };
    sample_setup(&s);
    json_t *json = fresh(&s);
    json_t *step = json_array_get(json_object_get(json, "steps"), 1);
    assert_string_equal(json_string_value(json_object_get(step, "kind")), "kernel");
    assert_null(json_object_get(step, "schedule"));
    json_object_set_new(step, "schedule", json_string("tiles=8 parallel=rows"));
    if (plan_from_json(json, s.graph, &plan, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    json_decref(json);
    assert_string_equal(plan->steps[1].schedule, "tiles=8 parallel=rows");
    assert_null(plan->steps[2].schedule);
    OK(plan_to_json(plan, s.graph, &json, NULL));
    step = json_array_get(json_object_get(json, "steps"), 1);
    assert_string_equal(json_string_value(json_object_get(step, "schedule")),
                        "tiles=8 parallel=rows");
    json_decref(json);
    plan_destroy(plan);
    char longest[COLLAGE_SCHEDULE_BYTES + 1];
    memset(longest, 'x', sizeof longest);
    longest[COLLAGE_SCHEDULE_BYTES] = '\0';
    const char *const bad[] = { "", " a", "a\n", "a\x1b[31m", "\xc3\xa4", longest };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        reject(&s, with(&s, "steps", 1, "schedule", json_string(bad[k])), COLLAGE_ERROR_FORMAT,
               "the schedule of step 1 is not 1 to 95 printable characters");
    reject(&s, with(&s, "steps", 1, "schedule", json_stringn("a\0b", 3)), COLLAGE_ERROR_FORMAT,
           "the schedule of step 1");
    reject(&s, with(&s, "steps", 1, "schedule", json_null()), COLLAGE_ERROR_FORMAT, "wrong type");
    reject(&s, with(&s, "steps", 0, "schedule", json_string("a")), COLLAGE_ERROR_FORMAT,
           "step 0 has a schedule, but is no kernel");
    sample_teardown(&s);
}

static void out_of_memory_is_an_error(void **state)
{
    (void)state;
    struct sample s;
    sample_setup(&s);
    json_t *json = fresh(&s);
    collage_status status = COLLAGE_ERROR_MEMORY;
    size_t n = 1;
    for (; status != COLLAGE_OK && n < 10000; n++) {
        struct plan *plan = NULL;
        memory_fail_after(n);
        status = plan_from_json(json, s.graph, &plan, NULL);
        memory_fail_after(0);
        assert_true(status == COLLAGE_OK ? plan != NULL : status == COLLAGE_ERROR_MEMORY && !plan);
        plan_destroy(plan);
    }
    assert_true(status == COLLAGE_OK && n > 3);
    json_decref(json);
    sample_teardown(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(messages),
        cmocka_unit_test(lanes_are_read_strictly),
        cmocka_unit_test(objects_are_read_strictly),
        cmocka_unit_test(precision_is_read_strictly),
        cmocka_unit_test(schedules_are_read_strictly),
        cmocka_unit_test(files_that_are_no_plans),
        cmocka_unit_test(mutated_texts),
        cmocka_unit_test(mutated_members),
        cmocka_unit_test(model_is_found_from_the_plan),
        cmocka_unit_test(out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
