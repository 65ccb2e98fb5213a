/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coverage.h: which operators a backend claims, and on which of them a case has passed. An op-level
 * backend claims what its patterns name; a graph-level one what it says that it supports.
 */
#ifndef CONFORM_COVERAGE_H
#define CONFORM_COVERAGE_H

#include "backend/registry.h"

enum { COVERAGE_OPERATORS = 256 };

struct coverage { /* by the operator's place in the table */
    bool claimed[COVERAGE_OPERATORS], passed[COVERAGE_OPERATORS];
};

/* The backend has taken the operator; or, passed, has computed it rightly. */
void coverage_add(struct coverage *coverage, const struct op *op, bool passed);

/* False, after printing which, if no case passed on an operator that the backend claims. */
bool coverage_check(struct coverage *coverage, const struct backend_entry *backend);

/* False, after printing which, if an operator is in no case at all. */
bool coverage_check_table(void);

#endif
