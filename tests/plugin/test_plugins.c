/* SPDX-License-Identifier: Apache-2.0 */
/* The registry with the plugins made for it: what it takes, what it refuses and why. */
#include "plugin/network_fixture.h"

#include <dlfcn.h>
#include <stdlib.h>

#define PLUGINS COLLAGE_BUILD_DIR "/test-plugins"

static const char relu_text[] = "graph \"one\" {\n"
                                "  input %x: float32[2x5]\n"
                                "  %y: float32[2x5] = Relu(%x)\n"
                                "  output %y\n"
                                "}\n";

static struct registry *make_registry(const char *directories)
{
    struct registry *registry = NULL;
    struct error error = { 0 };
    ASSERT_OK(registry_create(directories, NULL, NULL, &registry, &error), error);
    return registry;
}

struct refusal {
    const char *name, *reason; /* part of the problem's text */
};

/* In the order of the files' names. */
static const struct refusal refusals[] = {
    { "abi", "built for ABI 99." },
    { "capitals", "'Capitals'" },
    { "clash", "a backend of the name 'reference' is there already" },
    { "devices", "some of the device functions" },
    { "environment", "'NAME_WITHOUT_VALUE' is not NAME=VALUE" },
    { "incomplete", "lacks the function 'run'" },
    { "kind", "kind 9 is unknown" },
    { "nopattern", "lists no pattern" },
    { "null", "does not speak ABI 2" },
    { "small", "has 64 bytes" },
    { "stranger", "does not export the function 'collage_backend_entry'" },
    { "text", "does not load" },
};

static void test_refuses_broken_plugins(void **state)
{
    (void)state;
    struct registry *registry = make_registry(PLUGINS "/broken");
    size_t count = sizeof refusals / sizeof refusals[0];
    assert_int_equal(registry->count, count + 1);
    for (size_t k = 0; k < count; k++) {
        const struct backend_entry *entry = &registry->entries[k + 1];
        assert_string_equal(entry->name, refusals[k].name);
        assert_null(entry->api);
        if (!strstr(entry->problem, refusals[k].reason))
            fail_msg("%s: %s", entry->name, entry->problem);
        struct error error = { 0 };
        collage_target target = registry_host_target(1);
        assert_int_equal(registry_open(registry, (uint32_t)k + 1, &target, &error),
                         COLLAGE_ERROR_BACKEND);
        assert_non_null(strstr(error.text, entry->name));
    }
    registry_destroy(registry);
}

static void test_takes_older_table(void **state)
{
    (void)state;
    struct registry *registry = make_registry(PLUGINS "/odd");
    uint32_t older = registry_find(registry, "older");
    assert_true(older != UINT32_MAX);
    const collage_backend_api *api = registry->entries[older].api;
    assert_non_null(api);
    assert_null(api->estimate);
    assert_null(api->device_count);
    assert_int_equal(api->struct_size, sizeof *api);
    registry_destroy(registry);
}

static void test_open_without_handle_is_a_problem(void **state)
{
    (void)state;
    struct registry *registry = make_registry(PLUGINS "/odd");
    uint32_t index = registry_find(registry, "handleless");
    collage_target target = registry_host_target(1);
    struct error error = { 0 };
    assert_int_equal(registry_open(registry, index, &target, &error), COLLAGE_ERROR_BACKEND);
    assert_non_null(strstr(registry->entries[index].problem, "without a handle"));
    assert_null(registry->entries[index].open);
    registry_destroy(registry);
}

static void test_first_of_two_directories_wins(void **state)
{
    (void)state;
    struct registry *registry = make_registry(PLUGINS "/faulty:" PLUGINS "//faulty:");
    assert_int_equal(registry->count, 3);
    assert_int_equal(registry_find(registry, "faulty"), 1);
    assert_non_null(registry->entries[1].api);
    assert_null(registry->entries[2].api);
    assert_non_null(strstr(registry->entries[2].problem, "there already"));
    registry_destroy(registry);
}

static void test_faulty_runs_right_by_default(void **state)
{
    (void)state;
    struct network network;
    network_parse(&network, relu_text);
    struct registry *registry = make_registry(PLUGINS "/faulty");
    collage_target target = registry_host_target(1);
    struct error error = { 0 };
    collage_message message = { "" };
    collage_kernel *kernel = NULL;
    unsetenv("COLLAGE_FAULTY");
    ASSERT_OK(registry_open(registry, 1, &target, &error), error);
    assert_string_equal(registry->entries[1].version, "1.0");
    collage_backend *open = registry->entries[1].open;
    ASSERT_OK(registry_open(registry, 1, &target, &error), error);
    assert_ptr_equal(registry->entries[1].open, open);
    assert_int_equal(network_compile(&network, registry, 1, &target, 0, NULL, &kernel, &message),
                     COLLAGE_OK);
    network_check(&network, registry->entries[1].api, kernel);
    registry->entries[1].api->kernel_destroy(kernel);
    registry_destroy(registry);
    network_destroy(&network);
}

static void test_failed_open_stays_a_problem(void **state)
{
    (void)state;
    struct registry *registry = make_registry(PLUGINS "/faulty");
    collage_target target = registry_host_target(1);
    struct error error = { 0 };
    setenv("COLLAGE_FAULTY", "open-fail", 1);
    assert_int_equal(registry_open(registry, 1, &target, &error), COLLAGE_ERROR_BACKEND);
    assert_string_equal(error.text, "backend faulty: fails on purpose");
    assert_string_equal(registry->entries[1].problem, "fails on purpose");
    unsetenv("COLLAGE_FAULTY");
    error_clear(&error);
    assert_int_equal(registry_open(registry, 1, &target, &error), COLLAGE_ERROR_BACKEND);
    registry_set_version(registry, 1, "1.0", ""); /* a worker could open it */
    assert_string_equal(registry->entries[1].version, "1.0");
    error_clear(&error);
    ASSERT_OK(registry_open(registry, 1, &target, &error), error);
    registry_destroy(registry);
}

static void test_environment_is_set_unless_the_user_has(void **state)
{
    (void)state;
    struct registry *registry = make_registry(PLUGINS "/faulty");
    unsetenv("COLLAGE_TEST_WIDTH");
    setenv("COLLAGE_TEST_PLAIN", "mine", 1);
    registry_set_environment(registry, 7);
    assert_string_equal(getenv("COLLAGE_TEST_WIDTH"), "pool-7-wide");
    assert_string_equal(getenv("COLLAGE_TEST_PLAIN"), "mine");
    registry_destroy(registry);
}

static void count_gomp_warning(void *user, collage_log_level level, const char *line)
{
    if (level == COLLAGE_LOG_WARNING && strstr(line, "set GOMP_COLLAGE_TEST before starting"))
        ++*(int *)user;
}

static void test_warns_if_libgomp_is_there_already(void **state)
{
    (void)state;
    int warnings = 0;
    struct registry *registry = NULL;
    struct error error = { 0 };
    ASSERT_OK(registry_create(PLUGINS "/odd", count_gomp_warning, &warnings, &registry, &error),
              error);
    unsetenv("GOMP_COLLAGE_TEST");
    registry_set_environment(registry, 1);
    assert_int_equal(warnings, 0);
    unsetenv("GOMP_COLLAGE_TEST");
    bool loaded = dlopen("libgomp.so.1", RTLD_LAZY);
    registry_set_environment(registry, 1);
    assert_int_equal(warnings, loaded);
    registry_set_environment(registry, 1); /* set by now: no second warning */
    assert_int_equal(warnings, loaded);
    registry_destroy(registry);
}

/* Every allocation of the registry fails once: an error or a full registry, never a crash. */
static void test_out_of_memory(void **state)
{
    (void)state;
    collage_status status = COLLAGE_ERROR_MEMORY;
    for (size_t n = 1; n < 1000 && status != COLLAGE_OK; n++) {
        struct registry *registry = NULL;
        struct error error = { 0 };
        memory_fail_after(n);
        status =
            registry_create(PLUGINS "/faulty:" PLUGINS "/broken", NULL, NULL, &registry, &error);
        memory_fail_after(0);
        if (status != COLLAGE_OK) {
            assert_int_equal(status, COLLAGE_ERROR_MEMORY);
            assert_null(registry);
        }
        registry_destroy(registry);
    }
    assert_int_equal(status, COLLAGE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refuses_broken_plugins),
        cmocka_unit_test(test_takes_older_table),
        cmocka_unit_test(test_open_without_handle_is_a_problem),
        cmocka_unit_test(test_first_of_two_directories_wins),
        cmocka_unit_test(test_faulty_runs_right_by_default),
        cmocka_unit_test(test_failed_open_stays_a_problem),
        cmocka_unit_test(test_environment_is_set_unless_the_user_has),
        cmocka_unit_test(test_warns_if_libgomp_is_there_already),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
