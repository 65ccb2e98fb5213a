/* SPDX-License-Identifier: Apache-2.0 */
/* spawn.h: starts helper programs without a shell, and sees to their end. */
#ifndef COLLAGE_BASE_SPAWN_H
#define COLLAGE_BASE_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* No descriptor of the child may lie among the ones it gets: move them with spawn_move_up first. */
enum { SPAWN_FIRST_SAFE = 10 };

/* Descriptor k of the child is descriptors[k] of ours (each at least SPAWN_FIRST_SAFE); if that is
 * negative: /dev/null for the three standard ones, none for others. The child has no more than
 * these. It is in a process group of its own, so that Ctrl-C reaches the parent only; signals are
 * as in a new program. arguments: its name, and so on; NULL ends them. Returns 0 or an errno. */
int spawn_program(const char *program, char *const *arguments, const int *descriptors, size_t count,
                  pid_t *pid);

/* Closes the descriptor and returns its duplicate that is at least SPAWN_FIRST_SAFE (closed on
 * exec), or -1. */
int spawn_move_up(int descriptor);

/* Waits for the end. False: the host program has reaped it, and the status is not known. */
bool spawn_reap(pid_t pid, int *status);

#endif
