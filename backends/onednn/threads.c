/* SPDX-License-Identifier: Apache-2.0 */
#include "threads.h"

#include <stdio.h>
#include <string.h>

/* Above this, one thread is not worth a measurement: streaming it takes longer than waking. */
enum { SMALL_BYTES = 256 * 1024 };

static const char suffix[] = "/1t";

size_t threads_offers(const collage_subgraph *subgraph, const collage_target *target)
{
    uint64_t bytes = 0;
    for (uint32_t v = 0; v < subgraph->value_count; v++)
        bytes += subgraph->values[v]->bytes;
    return target->threads > 1 && bytes <= SMALL_BYTES ? 2 : 1;
}

void threads_name(const char *choice, bool single, char *name, size_t size)
{
    snprintf(name, size, "%s%s", choice, single ? suffix : "");
}

bool threads_match(const char *name, const char *choice, bool *single)
{
    size_t length = strlen(choice);
    *single = strncmp(name, choice, length) == 0 && strcmp(name + length, suffix) == 0;
    return *single || strcmp(name, choice) == 0;
}
