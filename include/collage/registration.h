/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registration.h: the part of collage.h (which includes it) by which a user says what else there
 * is: backends, files of patterns and costs, for one context or for all that are made later.
 */
#ifndef COLLAGE_REGISTRATION_H
#define COLLAGE_REGISTRATION_H

#include <collage/collage.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How something is added or removed. Zero, or NULL for the whole: for this context only. */
typedef struct collage_registration {
    size_t struct_size;
    bool keep;          /* also for contexts that are made later: it goes into the registry file */
    bool replace;       /* instead of the backend or cost function that has the name, or of the file
                           of costs `name` */
    const char *name;   /* collage_backend_add: the name that the plugin must have, NULL: any;
                           collage_costs_add with `replace`: the file that is there */
    const char *target; /* only on machines whose name or fingerprint (collage_costs_list) this glob
                           fits; NULL: any */
} collage_registration;

/*
 * Adds the plugin in the file `path`: checked, and refused with COLLAGE_ERROR_FORMAT if it is
 * malformed; COLLAGE_ERROR_ARGUMENT if its name is taken (with `replace`: if it is not). Workers
 * load it by this path, so a backend must be a file; it stays loaded for as long as this process.
 * Plans and sessions that are there stay as they are; the numbers of backends change, the strings
 * of collage_backend_describe stay valid. Since 0.1.
 */
COLLAGE_API collage_status collage_backend_add(collage_context *context, const char *path,
                                               const collage_registration *how);
/* There is no backend of that name any more: what was added is forgotten; what else has the name,
 * such as a plugin of a folder, is switched off. The reference cannot be removed. Since 0.1. */
COLLAGE_API collage_status collage_backend_remove(collage_context *context, const char *name,
                                                  const collage_registration *how);
/* Forgets what was added, replaced or switched off under that name. Since 0.1. */
COLLAGE_API collage_status collage_backend_restore(collage_context *context, const char *name,
                                                   const collage_registration *how);

/* Adds a file of patterns and rules (docs/patterns.md): it is offered whenever candidates are made
 * from then on, and read anew each time. COLLAGE_ERROR_FORMAT as collage_patterns_check. Since 0.1.
 */
COLLAGE_API collage_status collage_patterns_add(collage_context *context, const char *path,
                                                const collage_registration *how);
COLLAGE_API collage_status collage_patterns_remove(collage_context *context, const char *path,
                                                   const collage_registration *how);

/* ---- given costs ---- */

typedef enum collage_cost_answer {
    COLLAGE_COST_UNKNOWN = 0, /* nothing is said: the next one is asked, and then it is measured */
    COLLAGE_COST_GIVEN = 1,   /* *cost_ns is the cost: more than 0, at most 1e15 */
    COLLAGE_COST_NEVER = 2    /* the candidate must not be used */
} collage_cost_answer;

struct collage_subgraph; /* <collage/backend.h> */

/* The candidate whose cost is asked for. Valid during the call. */
typedef struct collage_cost_question {
    size_t struct_size;
    const char *backend, *version; /* the library's; "" if collage_explain does not know it */
    const char *operators; /* "Conv+Add+Relu": all of them, in order: what costs are told by */
    const char *variant;   /* which of the backend's ways to run them; "" if it has one only */
    const collage_tensor_info *inputs, *outputs; /* without constants; row-major shapes */
    size_t input_count, output_count;
    const struct collage_subgraph *subgraph; /* all of it: attributes, constants */
    int32_t threads;
    const char *device, *fingerprint; /* the machine, as collage_costs_list tells of it */
} collage_cost_question;

/* Called while collage_optimize, collage_measure, collage_ablate or collage_explain work, in their
 * thread; once for candidates that are alike. It must not call the context. */
typedef collage_cost_answer (*collage_cost_fn)(void *user, const collage_cost_question *question,
                                               double *cost_ns);

/*
 * Adds a function that gives costs, under a name of printable characters; `replace` takes the place
 * of the one that has the name. A function cannot be kept (`keep`). The last one that was added is
 * asked first, functions before files. A given cost takes the place of a measured one in the
 * search, and is marked as given in the plan and in explanations; it never gets into the store of
 * measured costs. What the search finds is verified and raced as ever. An answer that is none
 * (a cost that is not a number, or out of range) fails the call that asked, with
 * COLLAGE_ERROR_ARGUMENT. Since 0.1.
 */
COLLAGE_API collage_status collage_cost_function_add(collage_context *context, const char *name,
                                                     collage_cost_fn function, void *user,
                                                     const collage_registration *how);
COLLAGE_API collage_status collage_cost_function_remove(collage_context *context, const char *name);

/* The same from a file (docs/measuring.md): checked, and read anew whenever it is needed.
 * COLLAGE_ERROR_FORMAT names file, line and what was expected; COLLAGE_ERROR_ARGUMENT a backend
 * that is not there, or that the file to replace is not registered. Since 0.1. */
COLLAGE_API collage_status collage_costs_add(collage_context *context, const char *path,
                                             const collage_registration *how);
COLLAGE_API collage_status collage_costs_remove(collage_context *context, const char *path,
                                                const collage_registration *how);

/* ---- listing ---- */

typedef struct collage_registered_info {
    size_t struct_size;
    const char *kind;   /* "plugin", "off", "patterns", "costs" (a file) or "function" (of costs) */
    const char *target; /* "any", or the glob */
    const char *name;   /* of the backend or function; "" for files of patterns and costs */
    const char *path;   /* "" for what is off and for functions */
    const char *problem; /* why it cannot be used: a file that is gone or malformed; "" */
    bool kept;           /* in the registry file */
    bool here;           /* its target fits this machine */
} collage_registered_info;

/* What was added and removed, in the order in which it counts. Strings are valid until the next
 * call with this context. Since 0.1. */
COLLAGE_API size_t collage_registered_count(const collage_context *context);
COLLAGE_API collage_status collage_registered_describe(collage_context *context, size_t index,
                                                       collage_registered_info *info);
/* The registry file's path; "" if there is none. Since 0.1. */
COLLAGE_API const char *collage_registry_file(const collage_context *context);

/* ---- looking at patterns ---- */

/*
 * Reads a file of patterns and rules (docs/patterns.md) and writes a line for each of its entries:
 * kind, name, backends, target, size. COLLAGE_ERROR_FORMAT names file, line and column, and what
 * was expected. Since 0.1.
 */
COLLAGE_API collage_status collage_patterns_check(collage_context *context, const char *path,
                                                  collage_write_fn write, void *user);

/*
 * Writes for each entry of a file of patterns how many sets of nodes of the model it means, and
 * which: their numbers (as collage_measure takes them) and operators. No backend is asked. Errors
 * as above. Since 0.1.
 */
COLLAGE_API collage_status collage_patterns_match(collage_context *context,
                                                  const collage_model *model, const char *path,
                                                  collage_write_fn write, void *user);

#ifdef __cplusplus
}
#endif

#endif
