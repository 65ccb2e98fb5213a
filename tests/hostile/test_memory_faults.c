/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The n-th allocation fails, alone or with all after it, for every n that a call of the public API
 * gets to: each says that memory was short, leaves nothing behind (the sanitizer build watches for
 * leaks) and no file half written, and works as soon as there is memory again. What succeeds all
 * the same gives what it always gives. Built with the API's sources, since the shared library does
 * not export the injection. Optimising is sampled; the processes that it starts have memory enough.
 */
#include <dirent.h>
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/onnx/model_builder.h"

#include <collage/collage.h>

#include "base/file.h"

enum {
    EVERY = 2000, /* injected at each allocation up to this one, at one in fifty of the rest */
    SETTLED = 20, /* so many successes in a row: the call allocates no more */
    INPUTS = 2 * 8 * 8,
    OUTPUTS = 4,
    REGISTERED = 3 /* entries of the registry file */
};

static const char old_plan[] = "what was there before\n";

static struct {
    char folder[64], cache[96], model_path[96], plan_path[96], saved_path[96], old_path[96];
    char registry_path[112], patterns_path[96], added_path[96];
    collage_context *context;
    collage_model *model;
    collage_plan *plan;
    collage_session *session;
    float input[INPUTS], expected[OUTPUTS];
    bool remeasure;
    void (*set_fault)(size_t n); /* memory_fail_after or memory_fail_once */
} fixture;

/* ---- the fixture ---- */

static void add_floats(struct model_builder *b, const char *name, size_t rank, const int64_t *dims)
{
    float data[256];
    int64_t count = 1;
    for (size_t k = 0; k < rank; k++)
        count *= dims[k];
    assert_true(count <= 256);
    for (int64_t k = 0; k < count; k++)
        data[k] = (float)(k * 37 % 101 - 50) / 64;
    Onnx__TensorProto *tensor = builder_initializer(b, name, COLLAGE_FLOAT32, count, data);
    tensor->n_dims = rank;
    tensor->dims = arena_copy(b->arena, dims, rank * sizeof *dims);
}

static void write_model(void)
{
    static const int64_t ones[] = { 1, 1, 1, 1 }, twos[] = { 2, 2 }, shape[] = { 1, 64 };
    struct model_builder b;
    struct error error = { 0 };
    builder_begin(&b, 21);
    builder_input(&b, "x", COLLAGE_FLOAT32, "1x2x8x8");
    add_floats(&b, "w", 4, (const int64_t[]){ 4, 2, 3, 3 });
    add_floats(&b, "wb", 1, (const int64_t[]){ 4 });
    add_floats(&b, "g", 2, (const int64_t[]){ 64, OUTPUTS });
    builder_initializer(&b, "shape", COLLAGE_INT64, 2, shape);
    builder_node(&b, "Conv", "x,w,wb", "conv");
    builder_ints(&b, "pads", 4, ones);
    builder_node(&b, "Relu", "conv", "relu");
    builder_node(&b, "MaxPool", "relu", "pool");
    builder_ints(&b, "kernel_shape", 2, twos);
    builder_ints(&b, "strides", 2, twos);
    builder_node(&b, "Reshape", "pool,shape", "flat");
    builder_node(&b, "MatMul", "flat,g", "matmul");
    builder_node(&b, "Softmax", "matmul", "y");
    builder_output(&b, "y");
    size_t size = onnx__model_proto__get_packed_size(&b.model);
    uint8_t *bytes = arena_alloc(b.arena, size);
    onnx__model_proto__pack(&b.model, bytes);
    assert_int_equal(file_write(fixture.model_path, bytes, size, &error), COLLAGE_OK);
    builder_end(&b);
}

static void write_file(const char *path, const char *text)
{
    struct error error = { 0 };
    assert_int_equal(file_write(path, text, strlen(text), &error), COLLAGE_OK);
}

/* Two files of patterns, one of them registered, and backends that are off. */
static void write_registry(void)
{
    static const char patterns[] =
        "collage_patterns 1\nbackend reference\npattern first { y = Relu(Conv(x, ...)) }\n";
    char text[512];
    struct error error = { 0 };
    snprintf(fixture.registry_path, sizeof fixture.registry_path, "%s/registry", fixture.cache);
    snprintf(fixture.patterns_path, sizeof fixture.patterns_path, "%s/a.patterns", fixture.folder);
    snprintf(fixture.added_path, sizeof fixture.added_path, "%s/b.patterns", fixture.folder);
    write_file(fixture.patterns_path, patterns);
    write_file(fixture.added_path, patterns);
    snprintf(text, sizeof text,
             "collage_registry 1\noff\tany\tnobody\noff\tNo such machine*\tnobody\n"
             "patterns\tany\t%s\n",
             fixture.patterns_path);
    assert_int_equal(file_make_directory(fixture.cache, &error), COLLAGE_OK);
    assert_int_equal(file_write_private(fixture.registry_path, text, strlen(text), &error),
                     COLLAGE_OK);
}

static collage_context_options context_options(void)
{
    return (collage_context_options){ .struct_size = sizeof(collage_context_options),
                                      .cache_directory = fixture.cache,
                                      .plugin_directory = fixture.folder, /* there are none */
                                      .registry_file = fixture.registry_path,
                                      .worker_program = COLLAGE_BUILD_DIR "/bin/collage-worker" };
}

static void succeed(collage_status status)
{
    if (status != COLLAGE_OK)
        fail_msg("%s", collage_context_message(fixture.context));
}

static collage_status run_session(float *output)
{
    int64_t in_shape[] = { 1, 2, 8, 8 }, out_shape[] = { 1, OUTPUTS };
    const DLDataType type = { kDLFloat, 32, 1 };
    DLTensor input = {
        .data = fixture.input, .device = { kDLCPU, 0 }, .ndim = 4, .dtype = type, .shape = in_shape
    };
    DLTensor result = {
        .data = output, .device = { kDLCPU, 0 }, .ndim = 2, .dtype = type, .shape = out_shape
    };
    return collage_session_run(fixture.session, &input, 1, &result, 1);
}

static collage_status optimize(collage_plan **plan)
{
    const collage_optimize_options how = { .struct_size = sizeof how,
                                           .threads = 1,
                                           .backends = "reference",
                                           .race_seconds = 0.01,
                                           .remeasure = fixture.remeasure };
    return collage_optimize(fixture.context, fixture.model, &how, plan);
}

static int make_fixture(void **state)
{
    (void)state;
    snprintf(fixture.folder, sizeof fixture.folder, "/tmp/memory-faults-XXXXXX");
    assert_non_null(mkdtemp(fixture.folder));
    snprintf(fixture.cache, sizeof fixture.cache, "%s/cache", fixture.folder);
    snprintf(fixture.model_path, sizeof fixture.model_path, "%s/small.onnx", fixture.folder);
    snprintf(fixture.plan_path, sizeof fixture.plan_path, "%s/small.plan.json", fixture.folder);
    snprintf(fixture.saved_path, sizeof fixture.saved_path, "%s/saved.plan.json", fixture.folder);
    snprintf(fixture.old_path, sizeof fixture.old_path, "%s/old.plan.json", fixture.folder);
    write_model();
    write_registry();
    write_file(fixture.old_path, old_plan);
    write_file(fixture.saved_path, old_plan);
    const collage_context_options options = context_options();
    assert_int_equal(collage_context_create(&options, &fixture.context), COLLAGE_OK);
    succeed(collage_model_load(fixture.context, fixture.model_path, NULL, 0, &fixture.model));
    succeed(optimize(&fixture.plan));
    succeed(collage_plan_save(fixture.context, fixture.model, fixture.plan, fixture.plan_path));
    succeed(collage_session_create(fixture.context, fixture.model, fixture.plan, &fixture.session));
    for (int k = 0; k < INPUTS; k++)
        fixture.input[k] = (float)(k % 17 - 8) / 8;
    assert_int_equal(run_session(fixture.expected), COLLAGE_OK);
    return 0;
}

static int drop_fixture(void **state)
{
    (void)state;
    collage_session_destroy(fixture.session);
    collage_plan_destroy(fixture.plan);
    collage_model_destroy(fixture.model);
    collage_context_destroy(fixture.context);
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", fixture.folder);
    return system(command) == 0 ? 0 : -1;
}

/* ---- what is checked of each failure ---- */

/* message: NULL if there is nowhere to put one. */
static void check_outcome(const char *call, size_t n, collage_status status, const char *message)
{
    if (status == COLLAGE_OK)
        return;
    if (status != COLLAGE_ERROR_MEMORY || (message && !strstr(message, "out of memory")))
        fail_msg("%s, allocation %zu: status %d, '%s'", call, n, (int)status,
                 message ? message : "");
    for (const char *c = message; c && *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            fail_msg("%s, allocation %zu: a control character in '%s'", call, n, message);
}

/* How many entries a folder has; `part`: with that in their names. */
static size_t count_entries(const char *path, const char *part)
{
    size_t count = 0;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        count += strstr(entry->d_name, part) != NULL;
    closedir(folder);
    return count;
}

/* ---- the calls: each with the n-th allocation failing, none if n is 0 ---- */

static void keep_error(void *user, collage_log_level level, const char *line)
{
    if (level == COLLAGE_LOG_ERROR)
        snprintf(user, 512, "%s", line);
}

/* Without a context there is no message: the first allocation is the context itself. What is
 * registered is there, or the call fails: it is not passed over. */
static collage_status create_context(size_t n)
{
    char logged[512] = "";
    collage_context *context = NULL;
    collage_context_options options = context_options();
    options.log = keep_error;
    options.user = logged;
    fixture.set_fault(n);
    collage_status status = collage_context_create(&options, &context);
    memory_fail_after(0);
    check_outcome("context", n, status, n == 1 ? NULL : logged);
    assert_int_equal(context != NULL, status == COLLAGE_OK);
    if (context && collage_registered_count(context) != REGISTERED)
        fail_msg("context, allocation %zu: %zu entries are registered instead of %d", n,
                 collage_registered_count(context), REGISTERED);
    collage_context_destroy(context);
    return status;
}

/* Each entry: none is said to have a problem that it does not have. */
static collage_status list_registered(size_t n)
{
    collage_status status = COLLAGE_OK;
    fixture.set_fault(n);
    for (size_t k = 0; k < REGISTERED && status == COLLAGE_OK; k++) {
        collage_registered_info info = { .struct_size = sizeof info };
        status = collage_registered_describe(fixture.context, k, &info);
        if (status == COLLAGE_OK && info.problem[0])
            fail_msg("list, allocation %zu: '%s'", n, info.problem);
    }
    memory_fail_after(0);
    check_outcome("list", n, status, collage_context_message(fixture.context));
    return status;
}

/* The backends of the process that has them; the library is asked in a worker. */
static collage_status list_backends(size_t n)
{
    collage_context *context = NULL;
    collage_status status = COLLAGE_OK;
    const collage_context_options options = context_options();
    assert_int_equal(collage_context_create(&options, &context), COLLAGE_OK);
    fixture.set_fault(n);
    for (size_t k = 0; k < collage_backend_count(context) && status == COLLAGE_OK; k++) {
        collage_backend_info info = { .struct_size = sizeof info };
        status = collage_backend_describe(context, k, &info);
        if (status == COLLAGE_OK && info.problem[0])
            fail_msg("backends, allocation %zu: '%s'", n, info.problem);
    }
    memory_fail_after(0);
    check_outcome("backends", n, status, collage_context_message(context));
    collage_context_destroy(context);
    return status;
}

static size_t count_lines(const char *path)
{
    struct error error = { 0 };
    struct mapping file;
    size_t count = 0;
    assert_int_equal(file_map(path, &file, &error), COLLAGE_OK);
    for (size_t k = 0; k < file.bytes; k++)
        count += ((const char *)file.data)[k] == '\n';
    file_unmap(&file);
    return count;
}

/* For this context and in the registry file, or in neither. */
static collage_status add_patterns(size_t n)
{
    const collage_registration how = { .struct_size = sizeof how, .keep = true };
    fixture.set_fault(n);
    collage_status status = collage_patterns_add(fixture.context, fixture.added_path, &how);
    memory_fail_after(0);
    check_outcome("add", n, status, collage_context_message(fixture.context));
    const size_t more = status == COLLAGE_OK ? 1 : 0;
    assert_int_equal(collage_registered_count(fixture.context), REGISTERED + more);
    assert_int_equal(count_lines(fixture.registry_path), 1 + REGISTERED + more);
    if (more)
        succeed(collage_patterns_remove(fixture.context, fixture.added_path, &how));
    return status;
}

static collage_status load_model(size_t n)
{
    collage_model *model = NULL;
    fixture.set_fault(n);
    collage_status status =
        collage_model_load(fixture.context, fixture.model_path, NULL, 0, &model);
    memory_fail_after(0);
    check_outcome("model", n, status, collage_context_message(fixture.context));
    assert_int_equal(model != NULL, status == COLLAGE_OK);
    collage_model_destroy(model);
    return status;
}

static bool take_text(void *user, const char *bytes, size_t count)
{
    (void)bytes;
    *(size_t *)user += count;
    return true;
}

/* All of the text or none of it; *whole: how long it was before. */
static void check_text(collage_status status, size_t written, size_t *whole)
{
    if (status != COLLAGE_OK) {
        assert_int_equal(written, 0);
        return;
    }
    assert_true(written > 0);
    if (*whole)
        assert_int_equal(written, *whole);
    *whole = written;
}

static collage_status print_model(size_t n)
{
    static size_t whole;
    size_t written = 0;
    fixture.set_fault(n);
    collage_status status =
        collage_model_print(fixture.context, fixture.model, false, take_text, &written);
    memory_fail_after(0);
    check_outcome("print", n, status, collage_context_message(fixture.context));
    check_text(status, written, &whole);
    return status;
}

static collage_status report_plan_text(size_t n)
{
    static size_t whole;
    size_t written = 0;
    fixture.set_fault(n);
    collage_status status = collage_plan_report(fixture.context, fixture.model, fixture.plan,
                                                COLLAGE_FORMAT_TEXT, take_text, &written);
    memory_fail_after(0);
    check_outcome("report", n, status, collage_context_message(fixture.context));
    check_text(status, written, &whole);
    return status;
}

static bool files_are_equal(const char *a, const char *b)
{
    struct error error = { 0 };
    struct mapping first, second;
    assert_int_equal(file_map(a, &first, &error), COLLAGE_OK);
    assert_int_equal(file_map(b, &second, &error), COLLAGE_OK);
    bool equal = first.bytes == second.bytes && memcmp(first.data, second.data, first.bytes) == 0;
    file_unmap(&first);
    file_unmap(&second);
    return equal;
}

/* Over an old file, which is replaced as a whole or stays as it is. */
static collage_status save_plan(size_t n)
{
    write_file(fixture.saved_path, old_plan);
    fixture.set_fault(n);
    collage_status status =
        collage_plan_save(fixture.context, fixture.model, fixture.plan, fixture.saved_path);
    memory_fail_after(0);
    check_outcome("save", n, status, collage_context_message(fixture.context));
    assert_true(files_are_equal(fixture.saved_path,
                                status == COLLAGE_OK ? fixture.plan_path : fixture.old_path));
    return status;
}

static collage_status load_plan(size_t n)
{
    collage_model *model = NULL;
    collage_plan *plan = NULL;
    fixture.set_fault(n);
    collage_status status =
        collage_plan_load(fixture.context, fixture.plan_path, NULL, &model, &plan);
    memory_fail_after(0);
    check_outcome("plan", n, status, collage_context_message(fixture.context));
    assert_int_equal(model != NULL, status == COLLAGE_OK);
    assert_int_equal(plan != NULL, status == COLLAGE_OK);
    collage_plan_destroy(plan);
    collage_model_destroy(model);
    return status;
}

/* In a context whose libraries are not open yet; one that did not open must not stay closed. */
static collage_status create_session(size_t n)
{
    collage_context *context = NULL;
    collage_session *session = NULL, *again = NULL;
    const collage_context_options options = context_options();
    assert_int_equal(collage_context_create(&options, &context), COLLAGE_OK);
    fixture.set_fault(n);
    collage_status status = collage_session_create(context, fixture.model, fixture.plan, &session);
    memory_fail_after(0);
    check_outcome("session", n, status, collage_context_message(context));
    assert_int_equal(session != NULL, status == COLLAGE_OK);
    if (collage_session_create(context, fixture.model, fixture.plan, &again) != COLLAGE_OK)
        fail_msg("session after allocation %zu: %s", n, collage_context_message(context));
    collage_session_destroy(again);
    collage_session_destroy(session);
    collage_context_destroy(context);
    return status;
}

static collage_status run(size_t n)
{
    float output[OUTPUTS] = { 0 };
    fixture.set_fault(n);
    collage_status status = run_session(output);
    memory_fail_after(0);
    check_outcome("run", n, status, collage_session_message(fixture.session));
    if (status == COLLAGE_OK)
        assert_memory_equal(output, fixture.expected, sizeof output);
    return status;
}

/* No process that it started may be left either. */
static collage_status optimize_at(size_t n)
{
    collage_plan *plan = NULL;
    fixture.set_fault(n);
    collage_status status = optimize(&plan);
    memory_fail_after(0);
    check_outcome("optimize", n, status, collage_context_message(fixture.context));
    assert_int_equal(plan != NULL, status == COLLAGE_OK);
    collage_plan_destroy(plan);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    return status;
}

/* ---- the tests ---- */

struct call {
    const char *name;
    collage_status (*at)(size_t n);
    size_t least; /* failures there must be, or nothing was injected */
};

/* What was open or in the folder before a call. */
struct surroundings {
    size_t descriptors, files;
};

static struct surroundings look_around(void)
{
    return (struct surroundings){ count_entries("/proc/self/fd", ""),
                                  count_entries(fixture.folder, "") };
}

static void check_surroundings(const char *call, size_t n, struct surroundings before)
{
    const struct surroundings now = look_around();
    if (now.descriptors != before.descriptors || now.files != before.files ||
        count_entries(fixture.folder, ".part") || count_entries(fixture.cache, ".part"))
        fail_msg("%s, allocation %zu: %zu descriptors instead of %zu, %zu files instead of %zu",
                 call, n, now.descriptors, before.descriptors, now.files, before.files);
}

static void inject_everywhere(const struct call *call)
{
    size_t failed = 0, succeeded = 0;
    const struct surroundings before = look_around();
    for (size_t n = 1; succeeded < SETTLED; n += n < EVERY ? 1 : n / 50) {
        collage_status status = call->at(n);
        succeeded = status == COLLAGE_OK ? succeeded + 1 : 0;
        failed += status != COLLAGE_OK;
        if (status != COLLAGE_OK && call->at(0) != COLLAGE_OK)
            fail_msg("%s fails even after memory is there again", call->name);
        check_surroundings(call->name, n, before);
    }
    print_message("%s: failed at %zu allocations\n", call->name, failed);
    assert_true(failed >= call->least);
}

static void inject_into_all(void (*set_fault)(size_t n))
{
    static const struct call calls[] = {
        { "context", create_context, 5 },
        { "list", list_registered, 3 },
        { "backends", list_backends, 3 },
        { "add", add_patterns, 5 },
        { "model", load_model, 50 },
        { "print", print_model, 1 },
        { "report", report_plan_text, 1 },
        { "save", save_plan, 5 },
        { "plan", load_plan, 50 },
        { "session", create_session, 10 },
        { "run", run, 1 },
    };
    fixture.set_fault = set_fault;
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++)
        inject_everywhere(&calls[k]);
}

static void calls_survive_a_lack_of_memory(void **state)
{
    (void)state;
    inject_into_all(memory_fail_after);
}

/* Where one small failure is passed over, what follows has memory to go wrong with. */
static void calls_survive_one_failure(void **state)
{
    (void)state;
    inject_into_all(memory_fail_once);
}

/* At 1, 2, 4, ... until it no longer fails, then at `samples` places in between. */
static void inject_sampled(const char *name, size_t samples)
{
    size_t end = 1, failed = 0;
    const struct surroundings before = look_around();
    while (end < (size_t)1 << 30 && optimize_at(end) != COLLAGE_OK) {
        check_surroundings(name, end, before);
        failed++;
        end *= 2;
    }
    for (size_t k = 1; k <= samples; k++) {
        const size_t n = end * k / (samples + 1) + k % 7;
        failed += optimize_at(n ? n : 1) != COLLAGE_OK;
        check_surroundings(name, n, before);
    }
    assert_int_equal(optimize_at(0), COLLAGE_OK);
    check_surroundings(name, 0, before);
    print_message("%s: failed at %zu of some %zu allocations\n", name, failed, end);
    assert_true(failed >= 8);
}

/* Costs and the race come from the store. */
static void optimizing_again_survives(void **state)
{
    (void)state;
    fixture.set_fault = memory_fail_after;
    fixture.remeasure = false;
    inject_sampled("optimize", 26);
}

/* Everything is measured and raced anew. */
static void measuring_survives(void **state)
{
    (void)state;
    fixture.set_fault = memory_fail_after;
    fixture.remeasure = true;
    inject_sampled("measure", 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_survive_a_lack_of_memory),
        cmocka_unit_test(calls_survive_one_failure),
        cmocka_unit_test(optimizing_again_survives),
        cmocka_unit_test(measuring_survives),
    };
    return cmocka_run_group_tests(tests, make_fixture, drop_fixture);
}
