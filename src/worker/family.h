/* SPDX-License-Identifier: Apache-2.0 */
/*
 * family.h: a process and what it has started. A child process is the leader of a process group;
 * its own children are in it as well, unless they left it.
 */
#ifndef COLLAGE_WORKER_FAMILY_H
#define COLLAGE_WORKER_FAMILY_H

#include <stdbool.h>
#include <sys/types.h>

/* Sends a signal to the leader's group. */
void family_signal(pid_t leader, int signal);

/* Kills the group, and those descendants of the leader that left it. The leader is not reaped. */
void family_kill(pid_t leader);

/* Has the leader ended? It stays a zombie, so that its number is not given to others. */
bool family_has_ended(pid_t leader);

#endif
