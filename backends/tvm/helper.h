/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper.h: the process in which TVM compiles. One serves many requests: loading TVM takes seconds.
 * It is started at the first one, without a shell, in a process group of its own, with a limit of
 * memory and of time, and is killed with all its children when it is too slow, says something that
 * is no answer, or is not needed any more. After a failure the next request starts a new one.
 */
#ifndef TVM_HELPER_H
#define TVM_HELPER_H

#include <collage/backend.h>

#include <stdbool.h>
#include <sys/types.h>

struct helper {
    pid_t pid; /* 0: none runs */
    int to, from;
    int32_t threads;       /* that its trials run on */
    double seconds;        /* that starting and answering may take together */
    uint64_t memory_bytes; /* of addresses that it may use; 0: no limit */
};

/* With the usual limits; nothing runs yet. */
void helper_init(struct helper *helper, int32_t threads);

/* One line in, without its newline; text out, malloc'ed and terminated. COLLAGE_ERROR_UNSUPPORTED:
 * TVM's own refusal; COLLAGE_ERROR_BACKEND: it crashed, hangs or talks nonsense. */
collage_status helper_ask(struct helper *helper, const char *python, const char *request,
                          char **answer, collage_message *message);

/* Kills it, if one runs. */
void helper_stop(struct helper *helper);

#endif
