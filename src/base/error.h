/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.h: how a failure travels. Functions return a collage_status; the message goes into the
 * `struct error` that the caller handed down. The first error wins: later ones do not overwrite it.
 */
#ifndef COLLAGE_BASE_ERROR_H
#define COLLAGE_BASE_ERROR_H

#include <collage/backend.h>

struct error {
    collage_status status;
    char text[512];
};

void error_clear(struct error *error);

/* Sets status and message unless one is set already; returns the status now held. error may be
 * NULL. */
collage_status error_set(struct error *error, collage_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "format: " before the message, for context added on the way up ("node 'x': ..."). */
void error_prefix(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Out of memory; returns COLLAGE_ERROR_MEMORY. */
collage_status error_memory(struct error *error);

/* What errno says of a file: COLLAGE_ERROR_MEMORY, or COLLAGE_ERROR_IO with "cannot VERB 'PATH':
 * REASON". */
collage_status error_system(struct error *error, const char *verb, const char *path);

/* Takes over the message of a plugin. */
collage_status error_from_message(struct error *error, collage_status status, const char *backend,
                                  const collage_message *message);

/* Writes text into a plugin message; always returns `status`. */
collage_status message_set(collage_message *message, collage_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#if defined(__clang_analyzer__) && !defined(ERROR_FUNCTIONS)
/* The analyzer sees one file at a time: this tells it that what fails never returns COLLAGE_OK. */
static inline collage_status error_not_ok(collage_status status)
{
    if (status == COLLAGE_OK)
        __builtin_unreachable();
    return status;
}
#define error_set(...)          error_not_ok(error_set(__VA_ARGS__))
#define error_memory(error)     error_not_ok(error_memory(error))
#define error_system(...)       error_not_ok(error_system(__VA_ARGS__))
#define error_from_message(...) error_not_ok(error_from_message(__VA_ARGS__))
#define message_set(...)        error_not_ok(message_set(__VA_ARGS__))
#endif

#endif
