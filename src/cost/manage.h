/* SPDX-License-Identifier: Apache-2.0 */
/* manage.h: looking through the costs of a store, and throwing some away. */
#ifndef COLLAGE_COST_MANAGE_H
#define COLLAGE_COST_MANAGE_H

#include "base/text.h"
#include "cost/device.h"
#include "cost/store.h"

/* A library that is there, and its version; NULL: it is not known, all its costs may be in use. */
struct cost_library {
    const char *backend, *version;
};

/* Costs that fit all that is given. */
struct cost_filter {
    const char *backend, *device; /* NULL: any */
    /* One of the first six operators; "transition": a conversion of layouts; NULL: any. */
    const char *op_type;
    double older_seconds; /* longer than that in the store; 0: any */
    bool failed;          /* failures only */
    /* Not of these; NULL: of any. */
    const struct cost_library *installed;
    size_t installed_count;
};

/* Appends a table, one line a cost. *count: how many. */
collage_status cost_store_list(struct cost_store *store, const struct cost_filter *filter,
                               struct text *out, uint64_t *count, struct error *error);

/* Appends the machines that these costs are of, a line each: fingerprint, how many costs, and of
 * which this one is. */
collage_status cost_store_list_devices(struct cost_store *store, const struct cost_filter *filter,
                                       const struct device_facts *here, struct text *out,
                                       struct error *error);

/* Removes them, all or none. *left: how many costs stay. */
collage_status cost_store_prune(struct cost_store *store, const struct cost_filter *filter,
                                uint64_t *removed, uint64_t *left, struct error *error);

#endif
