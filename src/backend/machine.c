/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/machine.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { PATH_BYTES = 1024, LINE_BYTES = 512, MOST_CPUS = 1 << 16 };

/* The first line of a file, without its newline; false if there is none. */
static bool read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool read = fgets(line, (int)size, file) != NULL;
    fclose(file);
    if (read)
        line[strcspn(line, "\n")] = '\0';
    return read;
}

static bool read_number(const char *path, long long *number)
{
    char line[LINE_BYTES];
    if (!read_line(path, line, sizeof line))
        return false;
    char *end = NULL;
    errno = 0;
    *number = strtoll(line, &end, 10);
    return end != line && errno == 0;
}

/* The threads of a core name each other; the core is counted at its first thread that we may use.
 */
static bool shares_core_with_earlier(const char *root, const bool *allowed, size_t cpu)
{
    char path[PATH_BYTES], list[LINE_BYTES];
    int length =
        snprintf(path, sizeof path,
                 "%s/sys/devices/system/cpu/cpu%zu/topology/thread_siblings_list", root, cpu);
    if (length < 0 || (size_t)length >= sizeof path || !read_line(path, list, sizeof list))
        return false;
    for (const char *at = list; *at;) {
        char *end = NULL;
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (end == at)
            return false;
        if (*end == '-') {
            at = end + 1;
            last = strtoul(at, &end, 10);
            if (end == at)
                return false;
        }
        for (unsigned long other = first; other <= last && other < cpu; other++)
            if (allowed[other])
                return true;
        at = *end == ',' ? end + 1 : end;
        if (*end != ',' && *end)
            return false;
    }
    return false;
}

int32_t machine_physical_cores(const char *root, const bool *allowed, size_t count)
{
    int32_t cores = 0;
    for (size_t cpu = 0; cpu < count; cpu++)
        cores += allowed[cpu] && !shares_core_with_earlier(root, allowed, cpu);
    return cores > 0 ? cores : 1;
}

static int32_t whole_cpus(long long quota, long long period)
{
    if (quota <= 0 || period <= 0)
        return INT32_MAX;
    long long cpus = quota / period;
    return cpus < 1 ? 1 : cpus > INT32_MAX ? INT32_MAX : (int32_t)cpus;
}

/* The limit set in one group's folder. */
static int32_t group_quota(const char *folder, bool unified)
{
    char path[PATH_BYTES + 64], line[LINE_BYTES];
    long long quota, period;
    if (unified) {
        snprintf(path, sizeof path, "%s/cpu.max", folder);
        if (!read_line(path, line, sizeof line) ||
            sscanf(line, "%lld %lld", &quota, &period) != 2) /* "max 100000": no limit */
            return INT32_MAX;
        return whole_cpus(quota, period);
    }
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_number(path, &quota))
        return INT32_MAX;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    return read_number(path, &period) ? whole_cpus(quota, period) : INT32_MAX;
}

/* The tightest limit of a group and its ancestors: folder is base + the group's path. */
static int32_t ancestry_quota(const char *base, const char *group, bool unified)
{
    char folder[PATH_BYTES];
    int length = snprintf(folder, sizeof folder, "%s%s", base, strcmp(group, "/") ? group : "");
    if (length < 0 || (size_t)length >= sizeof folder)
        return INT32_MAX;
    int32_t least = INT32_MAX;
    for (;;) {
        int32_t quota = group_quota(folder, unified);
        least = quota < least ? quota : least;
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < strlen(base))
            return least;
        *slash = '\0';
    }
}

/* Is "cpu" one of the comma-separated controllers? */
static bool has_cpu_controller(const char *controllers)
{
    for (const char *at = controllers; *at;) {
        size_t length = strcspn(at, ",");
        if (length == 3 && !strncmp(at, "cpu", 3))
            return true;
        at += length + (at[length] == ',');
    }
    return false;
}

int32_t machine_cpu_quota(const char *root)
{
    char path[PATH_BYTES], line[PATH_BYTES];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    if (!file)
        return INT32_MAX;
    int32_t least = INT32_MAX;
    while (fgets(line, sizeof line, file)) { /* hierarchy:controllers:path */
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        controllers++;
        bool unified = !*controllers;
        if (!unified && !has_cpu_controller(controllers))
            continue;
        snprintf(path, sizeof path, "%s/sys/fs/cgroup%s", root, unified ? "" : "/cpu");
        int32_t quota = ancestry_quota(path, group, unified);
        least = quota < least ? quota : least;
    }
    fclose(file);
    return least;
}

/* Fills allowed[0 .. count) from the affinity mask; false if it does not fit or memory is short. */
static bool read_affinity(bool *allowed, size_t count)
{
    size_t bytes = CPU_ALLOC_SIZE(count);
    cpu_set_t *set = memory_alloc(bytes);
    bool fits = set && sched_getaffinity(0, bytes, set) == 0;
    for (size_t cpu = 0; fits && cpu < count; cpu++)
        allowed[cpu] = CPU_ISSET_S(cpu, bytes, set);
    memory_free(set);
    return fits;
}

int32_t machine_usable_cores(void)
{
    int32_t cores = 1;
    for (size_t count = 1024; count <= MOST_CPUS; count *= 4) { /* EINVAL: the mask is longer */
        bool *allowed = memory_alloc(count * sizeof *allowed);
        bool fits = allowed && read_affinity(allowed, count);
        if (fits)
            cores = machine_physical_cores("", allowed, count);
        memory_free(allowed);
        if (fits)
            break;
    }
    int32_t quota = machine_cpu_quota("");
    return quota < cores ? quota : cores;
}
