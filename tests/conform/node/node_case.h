/* SPDX-License-Identifier: Apache-2.0 */
/* node_case.h: the onnx package's node test cases, as generate.py writes them. */
#ifndef CONFORM_NODE_CASE_H
#define CONFORM_NODE_CASE_H

#include "reference/oracle.h"

struct node_case {
    const char *folder, *name;
    const char *ops, *types;   /* comma-separated: its operators; its inputs' and outputs' types */
    double relative, absolute; /* tolerances */
};

/* Calls for each case of the list, or for that of one name. False: the list cannot be read. */
bool node_case_each(const char *folder, const char *only,
                    void (*each)(const struct node_case *c, void *user), void *user);

/* Why Collage does not want to run it (training, sequences, strings, ...): "" if it does. A reason
 * that begins with "not supported: " is a gap. */
void node_case_excluded(const struct node_case *c, char *reason, size_t size);

/* Computes its graph, as imported or simplified, with the reference operators on the case's inputs.
 * *oracle is the caller's: NULL after an error. */
collage_status node_case_compute(const struct node_case *c, const struct graph *graph,
                                 struct oracle **oracle, struct error *error);
/* Imports it and computes it with the reference operators, on the case's inputs. Both are the
 * caller's, also after an error: NULL, or to be destroyed. */
collage_status node_case_run(const struct node_case *c, struct graph **graph,
                             struct oracle **oracle, struct error *error);
/* COLLAGE_ERROR_WRONG_RESULT if an output is not as the case says. */
collage_status node_case_check(const struct node_case *c, const struct graph *graph,
                               const struct oracle *oracle, struct error *error);

#endif
