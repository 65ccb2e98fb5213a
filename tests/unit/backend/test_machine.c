/* SPDX-License-Identifier: Apache-2.0 */
/* Cores and quotas, read from made-up /sys and /proc trees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/machine.h"
#include "backend/registry.h"
#include "base/file.h"

static char root[512];

static void put(const char *path, const char *contents)
{
    char full[1024];
    struct error error = { 0 };
    snprintf(full, sizeof full, "%s%s", root, path);
    *strrchr(full, '/') = '\0';
    assert_int_equal(file_make_directory(full, &error), COLLAGE_OK);
    snprintf(full, sizeof full, "%s%s", root, path);
    assert_int_equal(file_write(full, contents, strlen(contents), &error), COLLAGE_OK);
}

/* Each test has a tree of its own. */
static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "%s/machine-XXXXXX", COLLAGE_BUILD_DIR);
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    char command[600];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    return system(command);
}

static void put_siblings(int cpu, const char *list)
{
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    put(path, list);
}

static void test_hyperthreads_count_once(void **state)
{
    (void)state;
    put_siblings(0, "0,2\n");
    put_siblings(1, "1,3\n");
    put_siblings(2, "0,2\n");
    put_siblings(3, "1,3\n");
    assert_int_equal(machine_physical_cores(root, (bool[]){ true, true, true, true }, 4), 2);
    assert_int_equal(machine_physical_cores(root, (bool[]){ true, false, true, false }, 4), 1);
    assert_int_equal(machine_physical_cores(root, (bool[]){ true, true, false, false }, 4), 2);
    assert_int_equal(machine_physical_cores(root, (bool[]){ false, false, true, true }, 4), 2);
}

static void test_sibling_ranges(void **state)
{
    (void)state;
    put_siblings(0, "0-1\n");
    put_siblings(1, "0-1\n");
    put_siblings(2, "2-3\n");
    put_siblings(3, "nonsense\n");
    assert_int_equal(machine_physical_cores(root, (bool[]){ true, true, true, true }, 4), 3);
}

static void test_unknown_topology_counts_cpus(void **state)
{
    (void)state;
    assert_int_equal(machine_physical_cores(root, (bool[]){ true, false, true }, 3), 2);
    assert_int_equal(machine_physical_cores(root, (bool[]){ false }, 1), 1);
}

static void test_no_quota(void **state)
{
    (void)state;
    assert_int_equal(machine_cpu_quota(root), INT32_MAX);
    put("/proc/self/cgroup", "0::/a\n");
    assert_int_equal(machine_cpu_quota(root), INT32_MAX);
    put("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
    assert_int_equal(machine_cpu_quota(root), INT32_MAX);
}

static void test_tightest_ancestor_limits(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/sys/fs/cgroup/a/b/cpu.max", "450000 100000\n");
    assert_int_equal(machine_cpu_quota(root), 4);
    put("/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
    assert_int_equal(machine_cpu_quota(root), 2);
    put("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    assert_int_equal(machine_cpu_quota(root), 1);
}

static void test_version_1_quota(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/a\n");
    put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "300000\n");
    put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    assert_int_equal(machine_cpu_quota(root), 3);
}

static void test_this_machine(void **state)
{
    (void)state;
    assert_true(machine_usable_cores() >= 1);
    collage_target target = registry_host_target(0);
    assert_int_equal(target.threads, machine_usable_cores());
    assert_int_equal(registry_host_target(3).threads, 3);
    assert_int_equal(target.struct_size, sizeof target);
    assert_true(target.avx2 || !target.avx512);
    assert_true(target.avx2 || !target.vnni);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_root, remove_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_hyperthreads_count_once),
        TEST(test_sibling_ranges),
        TEST(test_unknown_topology_counts_cpus),
        TEST(test_no_quota),
        TEST(test_tightest_ancestor_limits),
        TEST(test_version_1_quota),
        TEST(test_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
