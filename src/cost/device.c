/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <hwloc.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "backend/registry.h"

/* What libraries choose kernels by, besides the caches. */
struct cpu_identity {
    char vendor[13];
    uint32_t signature;                    /* CPUID 1 EAX: family, model, stepping */
    uint32_t features, features7, amx_etc; /* CPUID 1 ECX; 7 EBX and EDX; masked */
};

/* The instruction sets that matter; hypervisors change other bits from host to host. */
enum {
    LEAF1_ECX = (1u << 0) | (1u << 9) | (1u << 12) | (1u << 19) |
                (1u << 20) |            /* SSE3 - SSE4.2, FMA */
                (1u << 28) | (1u << 29) /* AVX, F16C */
};
static const uint32_t leaf7_ebx = (1u << 3) | (1u << 5) | (1u << 8) | /* BMI1, AVX2, BMI2 */
                                  (1u << 16) | (1u << 17) | (1u << 21) | (1u << 28) | (1u << 30) |
                                  (1u << 31); /* AVX-512 F, DQ, IFMA, CD, BW, VL */
static const uint32_t leaf7_edx =
    (1u << 22) | (1u << 23) | (1u << 24) | (1u << 25); /* AMX-BF16, AVX512-FP16, AMX */

static struct cpu_identity read_identity(void)
{
    struct cpu_identity id = { .vendor = "unknown" };
#if defined(__x86_64__) || defined(__i386__)
    unsigned a, b, c, d;
    if (__get_cpuid(0, &a, &b, &c, &d)) {
        memcpy(id.vendor, &b, 4);
        memcpy(id.vendor + 4, &d, 4);
        memcpy(id.vendor + 8, &c, 4);
        id.vendor[12] = '\0';
    }
    if (__get_cpuid(1, &a, &b, &c, &d)) {
        id.signature = a & 0x0fff3fffu; /* without the reserved bits */
        id.features = c & (uint32_t)LEAF1_ECX;
    }
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        id.features7 = b & leaf7_ebx;
        id.amx_etc = d & leaf7_edx;
    }
#endif
    return id;
}

/* "model name" of /proc/cpuinfo; "unknown" if there is none. */
static collage_status read_model_name(char *name, size_t size, struct error *error)
{
    snprintf(name, size, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file)
        return errno == ENOMEM ? error_memory(error) : COLLAGE_OK;
    char line[256];
    bool found = false;
    while (!found && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        const char *begin = colon + 1 + strspn(colon + 1, " \t");
        const int length = (int)strcspn(begin, "\n");
        found = length > 0;
        if (found)
            snprintf(name, size, "%.*s", length, begin);
    }
    fclose(file);
    return COLLAGE_OK;
}

static uint64_t cache_bytes(hwloc_topology_t topology, hwloc_obj_type_t type)
{
    hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);
    return cache && cache->attr ? cache->attr->cache.size : 0;
}

static collage_status read_caches(struct device_facts *facts, struct error *error)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return error_memory(error); /* the only reason that it has */
    errno = 0;
    const bool loaded = hwloc_topology_load(topology) == 0;
    const bool short_of_memory = !loaded && errno == ENOMEM;
    if (loaded) {
        facts->l2_bytes = cache_bytes(topology, HWLOC_OBJ_L2CACHE);
        facts->last_level_cache_bytes = cache_bytes(topology, HWLOC_OBJ_L3CACHE);
    }
    hwloc_topology_destroy(topology);
    return short_of_memory ? error_memory(error) : COLLAGE_OK;
}

/* For containers that hide /sys. */
static uint64_t configured_bytes(int name)
{
    long bytes = sysconf(name);
    return bytes > 0 ? (uint64_t)bytes : 0;
}

static void complete_caches(struct device_facts *facts)
{
    if (facts->l2_bytes == 0)
        facts->l2_bytes = configured_bytes(_SC_LEVEL2_CACHE_SIZE);
    if (facts->last_level_cache_bytes == 0)
        facts->last_level_cache_bytes = configured_bytes(_SC_LEVEL3_CACHE_SIZE);
    if (facts->last_level_cache_bytes == 0)
        facts->last_level_cache_bytes = facts->l2_bytes;
}

static void make_fingerprint(const struct cpu_identity *id, struct device_facts *facts)
{
    /* The cores count although threads are a condition of each cost: two threads on two cores and
     * two threads on one core are different machines. */
    struct hash_fields {
        char vendor[16];
        uint64_t numbers[7];
    } fields = { .numbers = { id->signature, id->features, id->features7, id->amx_etc,
                              facts->l2_bytes, facts->last_level_cache_bytes,
                              (uint64_t)facts->physical_cores } };
    memcpy(fields.vendor, id->vendor, sizeof id->vendor);
    hash_print(hash_of(&fields, sizeof fields), facts->fingerprint);
}

collage_status device_facts_read(struct device_facts *facts, struct error *error)
{
    char model[72];
    *facts = (struct device_facts){ 0 };
    collage_status status = read_caches(facts, error);
    if (status == COLLAGE_OK)
        status = read_model_name(model, sizeof model, error);
    if (status != COLLAGE_OK)
        return status;
    complete_caches(facts);
    facts->physical_cores = registry_host_target(0).threads;
    struct cpu_identity id = read_identity();
    make_fingerprint(&id, facts);
    snprintf(facts->name, sizeof facts->name, "%s, %d core%s", model, facts->physical_cores,
             facts->physical_cores == 1 ? "" : "s");
    return COLLAGE_OK;
}
