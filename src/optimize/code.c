/* SPDX-License-Identifier: Apache-2.0 */
/* The code that the chosen plan's kernels need. Measured costs may be older than this process, and
 * so may the code: a worker compiles the plan, and says what was asked for. */
#include "optimize/optimizer.h"

collage_status optimizer_add_code(struct optimizer *optimizer, struct plan *plan,
                                  struct error *error)
{
    if (!plan->needs_code)
        return COLLAGE_OK;
    struct worker_setup setup = optimizer_worker_setup(optimizer);
    struct worker *worker;
    setup.oracle = NULL;
    collage_status status = worker_create(&setup, &worker, error);
    if (status != COLLAGE_OK)
        return status;
    status = worker_find_code(worker, plan, error);
    worker_destroy(worker);
    return status;
}
