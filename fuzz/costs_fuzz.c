/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer entry: any bytes as a file of costs. What is accepted must come out as text that is
 * accepted again and comes out the same. */
#include <stdlib.h>
#include <string.h>

#include "cost/exchange.h"
#include "fuzz.h"

static struct cost_store *open_store(void)
{
    struct cost_store *store;
    if (cost_store_open(NULL, &store, NULL) != COLLAGE_OK)
        abort();
    return store;
}

static void print(struct cost_store *store, struct text *text)
{
    uint64_t count;
    if (cost_store_export(store, text, &count, NULL) != COLLAGE_OK || text->failed)
        abort();
}

int fuzz_costs(const uint8_t *data, size_t size)
{
    struct cost_store *store = open_store(), *other;
    struct text once = { 0 }, twice = { 0 };
    struct error error = { 0 };
    uint64_t count;
    if (cost_store_import(store, (const char *)data, size, "fuzz", COST_STAYS, &count, &error) ==
        COLLAGE_OK) {
        print(store, &once);
        other = open_store();
        if (cost_store_import(other, once.bytes, once.count, "again", COST_STAYS, &count, &error) !=
            COLLAGE_OK)
            abort();
        print(other, &twice);
        if (once.count != twice.count || memcmp(once.bytes, twice.bytes, once.count) != 0)
            abort();
        cost_store_close(other);
    } else if (count != 0) {
        abort(); /* all or none */
    }
    text_free(&once);
    text_free(&twice);
    cost_store_close(store);
    return 0;
}
