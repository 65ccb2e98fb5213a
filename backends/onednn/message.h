/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ONEDNN_MESSAGE_H
#define ONEDNN_MESSAGE_H

#include <collage/backend.h>

/* Writes one line into message (NULL is fine) and returns status. */
collage_status fail(collage_message *message, collage_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
