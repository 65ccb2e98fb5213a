/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h: a worker process as its parent sees it: started, asked one thing at a time under a
 * time limit, stopped. It dies with its parent. Its descriptors: 3 the socket, 4 the oracle (if
 * any); standard input is empty; what it prints goes to the log. A peer (peer.h) is asked in the
 * same way, but over its standard input and output; what it prints to standard error goes to the
 * log.
 */
#ifndef COLLAGE_WORKER_PROCESS_H
#define COLLAGE_WORKER_PROCESS_H

#include <jansson.h>
#include <sys/types.h>

#include "base/error.h"

enum { PROCESS_SOCKET = 3, PROCESS_ORACLE = 4 };

/* collage-worker --peer PROGRAM [ARGUMENT...] becomes that program. */
#define PROCESS_PEER_OPTION "--peer"

struct process {
    pid_t pid;         /* 0: none */
    int socket;        /* valid while pid is not 0 */
    int output;        /* what it prints; -1: dropped */
    const char *label; /* its name in the log; borrowed */
    collage_log_fn log;
    void *log_user;
    char printed[256]; /* the last line that it printed; "" if none */
    char line[256];    /* the line after it, as far as it has come */
    size_t line_count;
};

/* oracle: a descriptor that stays the caller's; -1: none. log may be NULL. */
collage_status process_start(const char *program, int oracle, collage_log_fn log, void *log_user,
                             struct process *process, struct error *error);
/* Starts arguments[0] (looked up in PATH if it has no '/') with these arguments, NULL-terminated,
 * by way of `program` (collage-worker), which sees to it that it dies with us. */
collage_status process_start_peer(const char *program, char *const *arguments, const char *label,
                                  collage_log_fn log, void *log_user, struct process *process,
                                  struct error *error);
/* The other side of it, in collage-worker: becomes the peer. Returns only if that fails: an exit
 * status, the reason on standard error. */
int process_become_peer(char *const *arguments);
/* Kills it and all that it started, and reaps it; takes one that is not running. */
void process_stop(struct process *process);
/* Reaps it if it has died on its own; true if it is (still) running. */
bool process_is_alive(struct process *process);

/* Called about ten times a second while waiting; false interrupts. */
typedef bool (*process_tick_fn)(void *user);

/*
 * Sends a request and waits for the answer (the caller's). Failures stop the process:
 * COLLAGE_ERROR_BACKEND "crashed (SIGSEGV)", COLLAGE_ERROR_TIMEOUT "timed out after 2.0 s",
 * COLLAGE_ERROR_INTERRUPTED, COLLAGE_ERROR_MEMORY; COLLAGE_ERROR_INTERNAL for an answer that is
 * not of the protocol. tick may be NULL.
 */
collage_status process_ask(struct process *process, const json_t *request, double seconds,
                           process_tick_fn tick, void *user, json_t **answer, struct error *error);

/* Stops and continues it without its doing (SIGSTOP, SIGCONT). */
void process_pause(const struct process *process);
void process_resume(const struct process *process);

/* The most resident memory it has had, in bytes; 0 if unknown. */
uint64_t process_peak_bytes(const struct process *process);

#endif
