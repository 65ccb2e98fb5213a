/* SPDX-License-Identifier: Apache-2.0 */
/* test_tvm.c: TVM's plugin without TVM: the helper's faults, by scripts in its place; where it is
 * looked for; what the plugin refuses, says and offers. */
#include "conform/plugin_suite.h"

#include "tvm/helper.h"
#include "tvm/place.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static char python[128];

static void write_file(const char *path, const char *text, mode_t mode)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

/* A folder as a virtual environment is, whose Python is this script, and which has that TVM. */
static void write_python(const char *script, const char *version)
{
    char path[192], text[96];
    write_file(python, script, 0755);
    snprintf(path, sizeof path, "%s/lib/python3.11/site-packages/tvm/_version.py", folder);
    snprintf(text, sizeof text, "# made\n__version__ = version = '%s'\n", version);
    write_file(path, text, 0644);
}

static int make_folder(void **state)
{
    (void)state;
    char command[256];
    snprintf(folder, sizeof folder, "/tmp/test-tvm-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(python, sizeof python, "%s/bin/python", folder);
    snprintf(command, sizeof command, "mkdir -p '%s/bin' '%s/lib/python3.11/site-packages/tvm'",
             folder, folder);
    return system(command);
}

static int drop_folder(void **state)
{
    (void)state;
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static struct helper make_helper(const char *script)
{
    struct helper helper;
    helper_init(&helper, 2);
    write_python(script, "0.27.0");
    return helper;
}

/* It fails so, in one line, and no process is left if the helper is to blame. */
static void fails(const char *script, collage_status expected, const char *reason)
{
    struct helper helper = make_helper(script);
    collage_message message = { "" };
    char *answer = NULL;
    helper.seconds = 2;
    if (helper_ask(&helper, python, "{}", &answer, &message) != expected ||
        !strstr(message.text, reason) || strchr(message.text, '\n'))
        fail_msg("%s: '%s' does not say '%s'", script, message.text, reason);
    assert_null(answer);
    assert_true(expected == COLLAGE_ERROR_UNSUPPORTED ? helper.pid > 0 : helper.pid == 0);
    helper_stop(&helper);
}

static void test_answers(void **state)
{
    (void)state;
    struct helper helper =
        make_helper("#!/bin/sh\n[ \"$1$2$4\" = -I-c2 ] || exit 9\necho ready\n"
                    "while read -r line; do printf 'ok %d\\n%s' ${#line} \"$line\"; done\n");
    collage_message message = { "" };
    char *answer = NULL;
    if (helper_ask(&helper, python, "{\"kind\":\"rows\"}", &answer, &message) != COLLAGE_OK)
        fail_msg("%s", message.text);
    assert_string_equal(answer, "{\"kind\":\"rows\"}");
    free(answer);
    pid_t first = helper.pid;
    assert_int_equal(helper_ask(&helper, python, "again", &answer, &message), COLLAGE_OK);
    assert_string_equal(answer, "again");
    assert_int_equal(helper.pid, first); /* one process serves many */
    free(answer);
    helper_stop(&helper);
    assert_int_equal(kill(first, 0), -1);
    assert_int_equal(helper_ask(&helper, python, "anew", &answer, &message), COLLAGE_OK);
    free(answer);
    helper_stop(&helper);
}

static void test_faults_are_one_line(void **state)
{
    (void)state;
    static const struct {
        const char *script, *reason;
    } rows[] = {
        { "#!/bin/sh\necho ready\nread -r line\nkill -SEGV $$\n", "crashed (signal 11)" },
        { "#!/bin/sh\nexit 3\n", "ended (exit status 3)" },
        { "#!/bin/sh\necho hello\nsleep 9\n", "something else" },
        { "#!/bin/sh\nprintf 'rea\\001dy\\n'\nsleep 9\n", "something else" },
        { "#!/bin/sh\necho ready\nread -r line\necho ok -1\nsleep 9\n", "something else" },
        { "#!/bin/sh\necho ready\nread -r line\nprintf 'ok 3\\na\\000b'\nsleep 9\n",
          "something else" },
        { "#!/bin/sh\necho ready\nread -r line\nyes | head -c 3000 | tr -d '\\n'\nsleep 9\n",
          "something else" },
        { "#!/bin/sh\necho ready\nread -r line\necho ok 99999999999\nsleep 9\n", "too much" },
        { "#!/bin/sh\necho ready\nread -r line\necho ok 9\nprintf abc\n", "exit status 0" },
        { "#!/nowhere/at/all\n", "does not start" },
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
        fails(rows[k].script, COLLAGE_ERROR_BACKEND, rows[k].reason);
    fails("#!/bin/sh\necho ready\nread -r line\necho error no such kernel\nread -r line\n",
          COLLAGE_ERROR_UNSUPPORTED, "TVM: no such kernel");
}

static void test_hanging_is_stopped_with_its_children(void **state)
{
    (void)state;
    char path[128], script[256];
    int child = 0;
    snprintf(path, sizeof path, "%s/child", folder);
    snprintf(script, sizeof script, "#!/bin/sh\nsleep 60 &\necho $! >'%s'\nwait\n", path);
    struct helper helper = make_helper(script);
    collage_message message = { "" };
    char *answer = NULL;
    helper.seconds = 0.5;
    assert_int_equal(helper_ask(&helper, python, "{}", &answer, &message), COLLAGE_ERROR_BACKEND);
    assert_string_equal(message.text, "TVM's compiler was stopped after 0.5 s");
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &child), 1);
    (void)fclose(file);
    for (int k = 0; k < 100 && kill(child, 0) == 0; k++) { /* until somebody reaps it */
        char status[64], line[128] = "";
        snprintf(status, sizeof status, "/proc/%d/stat", child);
        FILE *stat = fopen(status, "re");
        bool dead = !stat || !fgets(line, sizeof line, stat) || strstr(line, ") Z");
        if (stat)
            (void)fclose(stat);
        if (dead)
            return;
        usleep(10000);
    }
    assert_int_equal(kill(child, 0), -1);
}

static void test_memory_is_limited(void **state)
{
    (void)state;
    struct helper helper = make_helper(
        "#!/bin/sh\necho ready\nread -r line\nprintf 'ok 7\\n%s' \"$(ulimit -v)\"\nread -r line\n");
    collage_message message = { "" };
    char *answer = NULL;
    helper.memory_bytes = (uint64_t)1234567 * 1024;
    if (helper_ask(&helper, python, "{}", &answer, &message) != COLLAGE_OK)
        fail_msg("%s", message.text);
    assert_string_equal(answer, "1234567");
    free(answer);
    helper_stop(&helper);
}

static void test_place(void **state)
{
    (void)state;
    struct place place;
    collage_message message = { "" };
    write_python("#!/bin/sh\n", "0.27.0.post1");
    setenv("COLLAGE_TVM_PYTHON", python, 1);
    if (place_find(&place, &message) != COLLAGE_OK)
        fail_msg("%s", message.text);
    assert_string_equal(place.version, "0.27.0.post1");
    assert_string_equal(place.python, python);
    write_python("#!/bin/sh\n", "0.20.0");
    assert_int_equal(place_find(&place, &message), COLLAGE_ERROR_BACKEND);
    assert_string_equal(message.text, "TVM 0.20.0 is too old: 0.27 is needed");
    setenv("COLLAGE_TVM_PYTHON", "/bin/sh", 1);
    assert_int_equal(place_find(&place, &message), COLLAGE_ERROR_BACKEND);
    assert_non_null(strstr(message.text, "/bin/sh is no Python that has TVM"));
    unsetenv("COLLAGE_TVM_PYTHON"); /* this program was built without a path */
    assert_int_equal(place_find(&place, &message), COLLAGE_ERROR_BACKEND);
    assert_non_null(strstr(message.text, "tools/setup.sh --tvm"));
}

#ifdef TVM_PLUGIN
static const collage_target target = {
    .struct_size = sizeof target, .threads = 2, .avx2 = true, .avx512 = true
};

static void test_refuses_with_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } rows[] = {
        { "x: 1x8x4x4; y = MaxPool(x) kernel_shape=[2,2]", "MaxPool is not given to TVM" },
        { "x: 3x4; y = Log(x)", "Log is not given to TVM" },
        { "x: 3x4; p = (1.5); y = Pow(x, p)", "with these operands" },
        { "x: 3x4; lo: 1; y = Clip(x, lo)", "with these operands" },
        { "x: 3x4; y = Softmax(x) axis=0", "last axis" },
        { "x: int64 3x4; v: int64 3x4; y = Add(x, v)", "float32" },
        { "x: 3x4; w = 4x5; y = MatMul(x, w)", "multiple of 8" },
        { "x: 3x4; w: 4x8; y = MatMul(x, w)", "not constant" },
        { "x: 3x4; w = 4x8; y = Gemm(x, w) alpha=0.5", "alpha" },
        { "x: 1x8x9; w = 8x8x3; y = Conv(x, w)", "2 dimensions" },
        { "x: 1x8x4x4; w = 8x4x3x3; y = Conv(x, w) group=2", "groups" },
        { "x: 1x8x4x4; w = 8x8x3x3; y = Conv(x, w) auto_pad=SAME_UPPER", "pads" },
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
        suite_refuses(suite_plugin(TVM_PLUGIN), &target, rows[k].text, rows[k].why);
    collage_target old = target;
    old.avx2 = old.avx512 = false;
    suite_refuses(suite_plugin(TVM_PLUGIN), &old, "x: 3x4; y = Relu(x)", "AVX2");
}

static void test_offers(void **state)
{
    (void)state;
    const collage_backend_api *api = suite_plugin(TVM_PLUGIN);
    static const char *const plain[] = { "plain >", NULL };
    static const char *const last[] = { "nhwc acdb,acdb>acdb", NULL };
    suite_patterns_parse(api);
    suite_offers(api, &target, "x: 3x40; y = Softmax(x)", plain);
    suite_offers(api, &target, "x: 3x40; w = 40x16; y = MatMul(x, w)", plain);
    suite_offers(
        api, &target,
        "x: 1x8x4x4; r: 1x8x4x4; w = 8x8x3x3; y = Conv(x, w) pads=[1,1,1,1]; z = Add(y, r)", last);
    suite_does_not_open(api, &target, "COLLAGE_TVM_PYTHON", "/nowhere/python", "is no Python");
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_faults_are_one_line),
        cmocka_unit_test(test_hanging_is_stopped_with_its_children),
        cmocka_unit_test(test_memory_is_limited),
        cmocka_unit_test(test_place),
#ifdef TVM_PLUGIN
        cmocka_unit_test(test_refuses_with_a_reason),
        cmocka_unit_test(test_offers),
#endif
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
