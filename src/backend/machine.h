/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h: how much of this machine a process may use: the physical cores of its affinity mask
 * and the CPU quota of its control groups. Reads the kernel's files below `root` ("" outside the
 * tests).
 */
#ifndef COLLAGE_BACKEND_MACHINE_H
#define COLLAGE_BACKEND_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Physical cores among the CPUs with allowed[cpu]; a CPU whose topology is unknown counts as one.
 */
int32_t machine_physical_cores(const char *root, const bool *allowed, size_t count);

/* Whole CPUs that the control groups (versions 1 and 2, with their ancestors) leave this process,
 * at least 1; INT32_MAX if there is no limit. */
int32_t machine_cpu_quota(const char *root);

/* Cores that this process may use: the smaller of both, at least 1. */
int32_t machine_usable_cores(void);

#endif
