/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collage.h: the public API of Collage.
 *
 * Collage takes a trained network (an ONNX file) and the deep-learning libraries of a machine,
 * measures the libraries on the operators of that network, and runs the fastest verified placement.
 *
 *     context -> model (an ONNX file, shapes bound) -> plan (by optimising, or from a file) ->
 * session -> run
 *
 * Errors: every fallible function returns a collage_status. The message of the first failure since
 * the last call that succeeded is kept in the context: collage_context_message(). The library never
 * prints, aborts or exits. Ownership: what a `_create`, `_load` or `collage_optimize` returns
 * belongs to the caller and is freed by the matching `_destroy`, which takes NULL. A context must
 * outlive what was made with it, a model and a plan the sessions made of them. Threads: one context
 * (and the models and plans made with it) is used by one thread at a time. Sessions are
 * independent: several sessions of one plan may run in several threads at once, one thread a
 * session. Sized structs: fill `struct_size` with sizeof; fields are only ever appended, and zero
 * means "default".
 */
#ifndef COLLAGE_COLLAGE_H
#define COLLAGE_COLLAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dlpack/dlpack.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COLLAGE_VERSION_MAJOR 0
#define COLLAGE_VERSION_MINOR 1
#define COLLAGE_VERSION_PATCH 0

#define COLLAGE_API __attribute__((visibility("default")))

/* One row a status: name, value, what it means. Values are frozen. */
#define COLLAGE_STATUS_TABLE(ROW)                                                                  \
    ROW(COLLAGE_OK, 0, "success")                                                                  \
    ROW(COLLAGE_ERROR_ARGUMENT, 1, "an argument is wrong")                                         \
    ROW(COLLAGE_ERROR_MEMORY, 2, "out of memory")                                                  \
    ROW(COLLAGE_ERROR_IO, 3, "a file cannot be read or written")                                   \
    ROW(COLLAGE_ERROR_FORMAT, 4, "a file is malformed")                                            \
    ROW(COLLAGE_ERROR_UNSUPPORTED, 5, "valid, but not supported")                                  \
    ROW(COLLAGE_ERROR_SHAPE, 6, "a shape or type is wrong or unknown")                             \
    ROW(COLLAGE_ERROR_BACKEND, 7, "a backend failed or is missing")                                \
    ROW(COLLAGE_ERROR_MISMATCH, 8, "a plan does not fit this model, machine or library")           \
    ROW(COLLAGE_ERROR_TIMEOUT, 9, "a time limit was reached")                                      \
    ROW(COLLAGE_ERROR_WRONG_RESULT, 10, "a result differs from the reference")                     \
    ROW(COLLAGE_ERROR_INTERRUPTED, 11, "interrupted")                                              \
    ROW(COLLAGE_ERROR_INTERNAL, 12, "a defect in Collage")

typedef enum collage_status {
#define ROW(name, value, text) name = value,
    COLLAGE_STATUS_TABLE(ROW)
#undef ROW
} collage_status;

/* Element types. The values are those of ONNX's TensorProto.DataType. */
typedef enum collage_dtype {
    COLLAGE_UNDEFINED = 0,
    COLLAGE_FLOAT32 = 1,
    COLLAGE_UINT8 = 2,
    COLLAGE_INT8 = 3,
    COLLAGE_UINT16 = 4,
    COLLAGE_INT16 = 5,
    COLLAGE_INT32 = 6,
    COLLAGE_INT64 = 7,
    COLLAGE_BOOL = 9,
    COLLAGE_FLOAT16 = 10,
    COLLAGE_FLOAT64 = 11,
    COLLAGE_UINT32 = 12,
    COLLAGE_UINT64 = 13,
    COLLAGE_BFLOAT16 = 16
} collage_dtype;

#define COLLAGE_MAX_RANK 8

typedef struct collage_context collage_context;
typedef struct collage_model collage_model;
typedef struct collage_plan collage_plan;
typedef struct collage_session collage_session;

/* Receives text in pieces (a dump, a report). Returns false to stop. `bytes` is not terminated. */
typedef bool (*collage_write_fn)(void *user, const char *bytes, size_t count);

/* ---- context ---- */

typedef enum collage_log_level {
    COLLAGE_LOG_ERROR,
    COLLAGE_LOG_WARNING,
    COLLAGE_LOG_INFO,
    COLLAGE_LOG_DEBUG
} collage_log_level;

/* Called for each log line, in the thread that works. `line` has no newline. */
typedef void (*collage_log_fn)(void *user, collage_log_level level, const char *line);

/* What a long call is doing: called a few times a second at most. Return false to interrupt it; to
 * end measuring early and have the best plan so far, call collage_context_finish. */
typedef struct collage_progress {
    size_t struct_size;
    const char *stage;  /* "reference", "measure", "tune", "place", "race" */
    const char *detail; /* what is being measured now; may be empty */
    size_t done, total; /* steps of this stage */
    /* Appended later. 0: not known (yet). */
    double best_ns;      /* the best placement so far, by the costs measured so far */
    double alone_ns;     /* the fastest library that runs the whole model alone, measured so far */
    const char *alone;   /* which; "" if none is known */
    double seconds_left; /* of the time for measuring, at most */
} collage_progress;
typedef bool (*collage_progress_fn)(void *user, const collage_progress *progress);

typedef struct collage_context_options {
    size_t struct_size;
    const char *cache_directory;  /* NULL: $COLLAGE_CACHE, else $XDG_CACHE_HOME/collage, else
                                     ~/.cache/collage */
    const char *plugin_directory; /* a list, separated by ':', of folders, plugins, and "!name" for
                                     what shall be off (docs/backends.md); NULL: $COLLAGE_PLUGINS,
                                     else the folder beside the library */
    const char *worker_program;   /* NULL: $COLLAGE_WORKER, else beside the library */
    collage_log_fn log;           /* NULL: silent */
    collage_progress_fn progress; /* NULL: none */
    void *user;                   /* handed to log and progress */
    bool trust;                   /* code objects beside a plan are taken from any folder: see
                                     collage_plan_load */
    /* Appended later: a struct that ends here is taken, too. */
    const char *registry_file; /* what is registered for all contexts: NULL: $COLLAGE_REGISTRY, else
                                  "registry" in the cache directory; "": nothing */
} collage_context_options;

COLLAGE_API const char *collage_version(void);
COLLAGE_API const char *collage_status_text(collage_status status);
/* Copies a text so that a terminal shows it and does not obey it: control characters, line ends,
 * what turns the reading direction, and bytes that are no UTF-8 become "?". Names of nodes and
 * values are whatever a model holds; the messages of this library are printable already. size: of
 * out, with the terminator; what does not fit is cut, between two characters. out may be text.
 * Returns the bytes that were written, without the terminator. */
COLLAGE_API size_t collage_printable(char *out, size_t size, const char *text);

/* Makes a context: finds the plugins (the libraries themselves are opened later). options may be
 * NULL. */
COLLAGE_API collage_status collage_context_create(const collage_context_options *options,
                                                  collage_context **out);
COLLAGE_API void collage_context_destroy(collage_context *context);

/*
 * Ends the measuring of a collage_optimize that runs with this context: what is not measured by
 * then stays unmeasured, and the best plan of what is known is made, checked and raced as shortly
 * as possible. COLLAGE_ERROR_INTERRUPTED if nothing was measured yet. May be called from its
 * progress or log callback, from another thread and from a signal handler. What is not running is
 * not ended. Since 0.1.
 */
COLLAGE_API void collage_context_finish(collage_context *context);

/* The message of the last failure, "" if none: one line that says what, where, and what to do. */
COLLAGE_API const char *collage_context_message(const collage_context *context);

/* ---- models ---- */

typedef struct collage_shape {
    const char *name; /* an input of the model */
    int32_t rank;
    int64_t dims[COLLAGE_MAX_RANK];
} collage_shape;

typedef struct collage_tensor_info {
    size_t struct_size;
    const char *name; /* owned by the model */
    collage_dtype dtype;
    int32_t rank;
    int64_t dims[COLLAGE_MAX_RANK];
} collage_tensor_info;

/*
 * Loads an ONNX file: checks it, infers all shapes, canonicalises. External data are memory-mapped
 * and must lie in the model's folder. `shapes` binds the symbolic dimensions of the inputs it
 * names. An input with a default (an initializer of its name, since IR version 4) is one of the
 * model's inputs only if `shapes` names it, else a constant.
 */
COLLAGE_API collage_status collage_model_load(collage_context *context, const char *path,
                                              const collage_shape *shapes, size_t shape_count,
                                              collage_model **out);
COLLAGE_API void collage_model_destroy(collage_model *model);
COLLAGE_API size_t collage_model_input_count(const collage_model *model);
COLLAGE_API size_t collage_model_output_count(const collage_model *model);
COLLAGE_API collage_status collage_model_input(const collage_model *model, size_t index,
                                               collage_tensor_info *info);
COLLAGE_API collage_status collage_model_output(const collage_model *model, size_t index,
                                                collage_tensor_info *info);

/* Writes the canonical graph as text (docs/graph-text.md); `summary` writes counts and sizes
 * instead. */
COLLAGE_API collage_status collage_model_print(collage_context *context, const collage_model *model,
                                               bool summary, collage_write_fn write, void *user);

/* Fills input `index` by the networks' rule (docs/networks.md): the input that checks and
 * measurements use. `data` is host memory, row-major, of the input's size. */
COLLAGE_API collage_status collage_model_example_input(collage_context *context,
                                                       const collage_model *model, size_t index,
                                                       void *data, size_t bytes);

/* Writes the external weights of a network that states the rule splitmix64-affine-1
 * (docs/networks.md). directory NULL: beside the model; otherwise the model is copied there too. */
COLLAGE_API collage_status collage_weights_fill(collage_context *context, const char *model_path,
                                                const char *directory, uint64_t *bytes_written);

/* ---- tensors in files ---- */

/* Reads a NumPy .npy file. Fills `tensor` (host memory, row-major, strides set) with data of its
 * own, freed by collage_tensor_free. */
COLLAGE_API collage_status collage_tensor_read(collage_context *context, const char *path,
                                               DLTensor *tensor);
COLLAGE_API void collage_tensor_free(DLTensor *tensor);
/* Writes a row-major host tensor as .npy; the file appears whole or not at all. */
COLLAGE_API collage_status collage_tensor_write(collage_context *context, const char *path,
                                                const DLTensor *tensor);

/* ---- backends ---- */

typedef struct collage_backend_info {
    size_t struct_size;
    const char *name;
    const char *kind;    /* "op-level" or "graph-level" */
    const char *version; /* of the library; "" if it is not available */
    const char *file;    /* the plugin; "" if built in */
    const char *problem; /* why it is not available; "" if it is */
    /* Appended later: filled if struct_size holds them. */
    const char *origin; /* "built in", "folder" (of plugins), "added" or "registered" */
    size_t patterns;    /* patterns, chains and rules that it gives itself */
} collage_backend_info;

COLLAGE_API size_t collage_backend_count(const collage_context *context);
/* Opens the library in a worker process to learn its version. Strings belong to the context. */
COLLAGE_API collage_status collage_backend_describe(collage_context *context, size_t index,
                                                    collage_backend_info *info);
/* Writes what collage_backend_describe tells of all of them as a JSON array of objects with the
 * members of collage_backend_info. Since 0.1. */
COLLAGE_API collage_status collage_backends_report(collage_context *context, collage_write_fn write,
                                                   void *user);

/* ---- optimising ---- */

/* How a placement is found (docs/placement.md). All but the exact search are there to be compared
 * with it: the plan is then what that search finds, whatever is faster in the final race. */
typedef enum collage_search {
    COLLAGE_SEARCH_EXACT = 0,    /* ours: the best for the measured costs, with a bound */
    COLLAGE_SEARCH_OP_LEVEL = 1, /* the published dynamic program over single operators */
    /* That, then the published evolutionary search: it moves groups of operators to one graph-level
     * backend and runs each plan. */
    COLLAGE_SEARCH_TWO_LEVEL = 2,
    COLLAGE_SEARCH_GREEDY = 3, /* in the order of `backends`, each takes what it can */
    COLLAGE_SEARCH_BRUTE = 4   /* tries everything; at most 12 operators */
} collage_search;

/* How exact sums of products must be (docs/measuring.md). Since 0.1. */
typedef enum collage_precision {
    COLLAGE_PRECISION_DEFAULT = 0, /* float32; a kernel is near the reference (1e-5 or so of an
                                      output's largest value), whatever its algorithm */
    /* Besides, each element is as near as direct summation in any order would be: within gamma_k
     * times the sum of |a| |b|, k the length of the sum. So no Winograd. */
    COLLAGE_PRECISION_STRICT = 1
} collage_precision;

/* Operators that run on a certain backend. */
typedef struct collage_pin {
    const char *node;    /* the name of a node, or a glob (`*`, `?`, `[...]`) that names match */
    const char *backend; /* of all pins that mean a node the last one holds */
} collage_pin;

typedef struct collage_optimize_options {
    size_t struct_size;
    const char *backends;  /* comma-separated names; NULL: all that are available */
    int32_t threads;       /* 0: the number of physical cores this process may use */
    double budget_seconds; /* time limit for measuring; 0: 300 */
    bool remeasure;        /* ignore stored costs (they are replaced) */
    double race_seconds;   /* for the final race; up to twice that while it is open; 0: 20 */
    /* Appended later: a struct that ends here is taken, too. */
    collage_search search;
    /* Op-level, two-level: what each kernel costs beside its own time. 0: what dispatching it
     * costs. The published search has 10000. */
    double kernel_cost_ns;
    uint64_t search_seed;       /* two-level: of its random numbers; 0: 64 */
    int32_t search_generations; /* two-level: at most; 0: 100 */
    double search_seconds;      /* two-level: time limit; 0: 300 */
    const collage_pin *pins;    /* pin_count of them; everything else is searched */
    size_t pin_count;
    /* A file as collage_placement_save writes it, whole or in part: its groups become kernels of
     * the plan. NULL: none. */
    const char *placement;
    /* Files of patterns and rules (docs/patterns.md): what the backends could run besides what they
     * list themselves. All of it is still asked of the backend, measured and checked. Names of
     * files; NULL with pattern_file_count 0: none. */
    const char *const *pattern_files;
    size_t pattern_file_count;
    /* Exact and brute: kernels that need the result of a cheap operator, which others need as well,
     * may compute it for themselves. Since 0.1. */
    bool allow_recompute;
    /* Time limit for searching schedules of the kernels that matter, beside budget_seconds
     * (docs/tuning.md); 0: backends choose as they like. Since 0.1. */
    double tune_seconds;
    /* A tuning log: the schedules that it has for this machine and these libraries are used, and
     * with tune_seconds what was found is written back; then it may be missing. NULL: none. Since
     * 0.1. */
    const char *tuning_log;
    collage_precision precision; /* Since 0.1. */
} collage_optimize_options;

COLLAGE_API collage_status collage_optimize(collage_context *context, const collage_model *model,
                                            const collage_optimize_options *options,
                                            collage_plan **out);

/* ---- plans ---- */

/* The model is found by the path in the plan file (relative to it) unless model_path is given. A
 * plan is data; if it names code objects beside it (docs/plan-format.md), these are read when a
 * session is made or the plan is verified or compared: only with the SHA-256 that the plan names,
 * and, unless the context trusts, only from a folder and files that belong to the user or root and
 * that nobody else may write. */
COLLAGE_API collage_status collage_plan_load(collage_context *context, const char *path,
                                             const char *model_path, collage_model **model,
                                             collage_plan **plan);
COLLAGE_API collage_status collage_plan_save(collage_context *context, const collage_model *model,
                                             const collage_plan *plan, const char *path);
/* Writes which operator runs where as a table, in the form of the original project (CSV,
 * docs/placement.md): the file that collage_optimize takes as `placement`. It appears whole or not
 * at all. Since 0.1. */
COLLAGE_API collage_status collage_placement_save(collage_context *context,
                                                  const collage_model *model,
                                                  const collage_plan *plan, const char *path);
COLLAGE_API void collage_plan_destroy(collage_plan *plan);

typedef enum collage_format {
    COLLAGE_FORMAT_TEXT, /* tables for a terminal */
    COLLAGE_FORMAT_JSON, /* one object */
    COLLAGE_FORMAT_DOT,  /* Graphviz source */
    COLLAGE_FORMAT_SVG,  /* the picture, one colour a backend */
    COLLAGE_FORMAT_HTML  /* one page that needs nothing else: the picture to move about in, tables,
                            and for each step the alternatives with their costs, as far as the cost
                            store of the context knows them */
} collage_format;

/* Which operator runs where, the costs, and how the plan compares with each library alone. */
COLLAGE_API collage_status collage_plan_report(collage_context *context, const collage_model *model,
                                               const collage_plan *plan, collage_format format,
                                               collage_write_fn write, void *user);

/*
 * Why the plan is as it is, as text. node NULL: step by step the best other backend and by how
 * much, and why the whole plan won. Otherwise a node, by its name, a result of it, or its number:
 * why it runs where it does, every candidate that covers it with its cost, and what was refused or
 * failed.
 * The costs are those of the context's cache directory for the plan's machine, threads and library
 * versions; nothing is measured and no library is opened. Where there are none, the text says so.
 * COLLAGE_ERROR_ARGUMENT if there is no such node. Since 0.1.
 */
COLLAGE_API collage_status collage_explain(collage_context *context, const collage_model *model,
                                           const collage_plan *plan, const char *node,
                                           collage_write_fn write, void *user);

/* How far the plan is from what the machine could do: its kernels by kind (operators, backend,
 * variant), with count, time, operations, bytes, and the room to the least time by the machine's
 * peaks; the kind with the most room first. COLLAGE_FORMAT_TEXT or _JSON. Costs are those of
 * collage_explain. The peaks are measured, the first time for two or three seconds for each number
 * of threads, and the best ever are kept in the cache directory; COLLAGE_ERROR_MISMATCH if they are
 * another machine's. Since 0.1. */
COLLAGE_API collage_status collage_roofline(collage_context *context, const collage_model *model,
                                            const collage_plan *plan, collage_format format,
                                            collage_write_fn write, void *user);

/*
 * Writes what the stages made into a folder, which is made if it is missing: without a plan the
 * model as imported and as simplified (1-imported, 2-canonical), with one the placed graph
 * (3-placed). Each as text (NAME.graph, docs/graph-text.md) and as a picture (NAME.svg; Graphviz
 * source, NAME.dot, where Graphviz's plugins are missing or there are more than 2,000 boxes). Each
 * file appears whole or not at all. Since 0.1.
 */
COLLAGE_API collage_status collage_dump(collage_context *context, const collage_model *model,
                                        const collage_plan *plan, const char *directory);

/* ---- running ---- */

/* Opens the libraries, compiles the kernels, packs the weights: `run` allocates nothing after that.
 */
COLLAGE_API collage_status collage_session_create(collage_context *context,
                                                  const collage_model *model,
                                                  const collage_plan *plan, collage_session **out);
COLLAGE_API void collage_session_destroy(collage_session *session);

/*
 * Runs the plan once. inputs and outputs are in the model's order; host memory, row-major (strides
 * NULL or dense), of the model's shapes and types; they are the caller's and are read and written
 * in place. On failure the message is in collage_session_message().
 */
COLLAGE_API collage_status collage_session_run(collage_session *session, const DLTensor *inputs,
                                               size_t input_count, DLTensor *outputs,
                                               size_t output_count);
COLLAGE_API const char *collage_session_message(const collage_session *session);

/* One step of the plan: its name, its backend, and the time it took over the profiled runs. */
typedef struct collage_step_profile {
    size_t struct_size;
    const char *name, *backend, *ops; /* owned by the session */
    double predicted_ns;              /* the measured cost used for placing; 0 if none */
    double minimum_ns, median_ns;     /* over the profiled runs */
    /* Appended later: a struct that ends here is taken, too. */
    double flop;     /* arithmetic operations, direct ones: two for each multiply-add */
    double bytes;    /* that must move: inputs, outputs, constants, each once */
    double bound_ns; /* the least time for both by the machine's peaks; 0: not known, see
                        collage_session_find_peaks */
} collage_step_profile;

/* While on, each run records the time of each step (of the last 256 runs). */
COLLAGE_API collage_status collage_session_set_profiling(collage_session *session, bool on);
COLLAGE_API size_t collage_session_step_count(const collage_session *session);
COLLAGE_API collage_status collage_session_step(const collage_session *session, size_t index,
                                                collage_step_profile *profile);

/* Makes known what the machine can do at best on the session's threads, and so the bound_ns of its
 * steps: the best that it ever measured, now (as collage_roofline) or before. The context is the
 * one that the session was made with. Since 0.1. */
COLLAGE_API collage_status collage_session_find_peaks(collage_context *context,
                                                      collage_session *session);

/* Bytes held by the session: activations and scratch; packed weights of op-level kernels. */
COLLAGE_API void collage_session_memory(const collage_session *session, uint64_t *activation_bytes,
                                        uint64_t *packed_weight_bytes);

/* ---- checking and comparing ---- */

typedef struct collage_verification {
    size_t struct_size;
    double worst_error;       /* max |result - reference| / max |reference|, over the outputs */
    double tolerance;         /* what was allowed */
    size_t outputs, elements; /* how many were compared */
} collage_verification;

/* Runs plan (NULL: every available backend that takes the whole model) against the reference on the
 * example inputs. COLLAGE_ERROR_WRONG_RESULT if it differs. */
COLLAGE_API collage_status collage_verify(collage_context *context, const collage_model *model,
                                          const collage_plan *plan, collage_verification *result);

typedef struct collage_bench_options {
    size_t struct_size;
    double seconds;    /* time to spend; 0: 20 */
    const char *peers; /* who else takes part: comma-separated names, "all", or programs
                          (docs/peers.md); NULL: nobody */
    /* Appended later: a struct that ends here is taken, too. Other plans of this model for as many
     * threads, which take part; then nobody rests. At most 63. */
    const collage_plan *const *others;
    size_t other_count;
    /* What the table calls `plan` and then the others: other_count + 1 names. NULL: "plan",
     * "plan 2", ... */
    const char *const *names;
} collage_bench_options;

/* Is everybody in the list there? COLLAGE_ERROR_ARGUMENT, naming who is not. Starts nobody: whether
 * a peer's framework is installed turns out in the comparison. */
COLLAGE_API collage_status collage_peers_check(collage_context *context, const char *peers);

/* Runs the plan, the other plans, each library alone (own process, own defaults, same threads) and
 * the peers, interleaved, and writes the comparison: minimum, median, paired ratio with its 95 %
 * confidence interval, peak memory. */
COLLAGE_API collage_status collage_bench(collage_context *context, const collage_model *model,
                                         const collage_plan *plan,
                                         const collage_bench_options *options,
                                         collage_format format, collage_write_fn write, void *user);

typedef struct collage_ablate_options {
    size_t struct_size;
    const char *backends;  /* comma-separated names; NULL: all that are available */
    int32_t threads;       /* 0: the number of physical cores this process may use */
    double budget_seconds; /* for measuring what the cost store lacks; 0: 300 */
    double seconds;        /* for the race; 0: 20 */
    /* Appended later: a struct that ends here is taken, too. As collage_optimize_options. */
    const char *const *pattern_files;
    size_t pattern_file_count;
} collage_ablate_options;

/*
 * How fast the model is with 1, 2, ... libraries: the best placement on the best single library,
 * then always with the library that makes the whole cheapest, by measured costs (the reference does
 * what none of them takes, and the note says so). All these placements, and each library in its own
 * session, are raced in one run, interleaved. Writes a table or one object: costs, minimum, median,
 * and the ratios to the first and to the one before with their 95 % confidence intervals. options
 * may be NULL. COLLAGE_ERROR_BACKEND if there is no library. Since 0.1.
 */
COLLAGE_API collage_status collage_ablate(collage_context *context, const collage_model *model,
                                          const collage_ablate_options *options,
                                          collage_format format, collage_write_fn write,
                                          void *user);

typedef struct collage_bench_operators_options {
    size_t struct_size;
    const char *const *cases; /* names of cases; NULL with case_count 0: layers of real networks */
    size_t case_count;
    const char *filter; /* of those, the ones with this in their name; NULL: all */
    const char
        *backends;   /* comma-separated names; NULL: all that are available but the reference */
    int32_t threads; /* 0: the number of physical cores this process may use */
    bool all;        /* without names: the small cases of the conformance tests, too */
    bool list;       /* writes names and texts of the chosen cases instead of timing them */
    /* Appended later: a struct that ends here is taken, too. */
    collage_precision precision; /* a kernel that is not within its bound has failed */
} collage_bench_operators_options;

/*
 * Times single operators and small chains on each backend, in each variant, verified against the
 * reference and timed like the candidates of a network (docs/measuring.md, docs/bench-ops.md), and
 * writes a table (COLLAGE_FORMAT_TEXT, case by case) or one object (COLLAGE_FORMAT_JSON, at the
 * end): the least time, a 95 % confidence interval of the median, the ratio to the fastest, GFLOP/s
 * where they are counted, or why a backend refused or failed. options may be NULL.
 * COLLAGE_ERROR_ARGUMENT names a case or backend that does not exist; COLLAGE_ERROR_WRONG_RESULT,
 * after all is written, if a kernel differed from the reference. Since 0.1.
 */
COLLAGE_API collage_status collage_bench_operators(collage_context *context,
                                                   const collage_bench_operators_options *options,
                                                   collage_format format, collage_write_fn write,
                                                   void *user);

typedef struct collage_measure_options {
    size_t struct_size;
    const char *node;      /* its name, a result of it, or its number in the canonical graph */
    const char *backends;  /* comma-separated names; NULL: all that are available */
    int32_t threads;       /* 0: the number of physical cores this process may use */
    double budget_seconds; /* after which nothing more is measured; 0: 300 */
    bool remeasure;        /* ignore stored costs (they are replaced) */
    const char *const *pattern_files; /* as in collage_optimize_options */
    size_t pattern_file_count;
    collage_precision precision;
} collage_measure_options;

/*
 * Single-operator mode: writes every candidate that covers one node, on every backend, as text:
 * cost and statistics, layouts, scratch memory and weights, the error against the reference, and
 * whether all this is from the store or was measured now (then it is kept there); what failed and
 * why, and why a backend refused the node. COLLAGE_ERROR_ARGUMENT if there is no such node. Since
 * 0.1.
 */
COLLAGE_API collage_status collage_measure(collage_context *context, const collage_model *model,
                                           const collage_measure_options *options,
                                           collage_write_fn write, void *user);

/*
 * The measured costs of the context's cache directory as text (one JSON object a line,
 * docs/measuring.md), to use them elsewhere: each says for which machine, library and conditions it
 * holds. Export writes the file, all or nothing. Import takes costs in, all or none; those that are
 * there already stay unless `replace`. The file may come from anywhere: what does not fit is
 * COLLAGE_ERROR_FORMAT and names the line. *count: how many were written or taken. Since 0.1.
 */
COLLAGE_API collage_status collage_costs_export(collage_context *context, const char *path,
                                                uint64_t *count);
COLLAGE_API collage_status collage_costs_import(collage_context *context, const char *path,
                                                bool replace, uint64_t *count);

/*
 * Takes another store (its file or its folder) or a file of exported costs into the context's, all
 * or none. Of two costs of one kernel the better stays: a measured one rather than a failure, then
 * the lower one; with `replace`, that of the file. The other store is only read, and checked like a
 * file from anywhere. Switch costs and races stay where they were measured. *count: how many costs
 * were taken. Since 0.1.
 */
COLLAGE_API collage_status collage_costs_merge(collage_context *context, const char *path,
                                               bool replace, uint64_t *count);

/* Costs that fit all that is given. */
typedef struct collage_costs_filter {
    size_t struct_size;
    const char *backend;  /* NULL: any */
    const char *op_type;  /* one of the first six operators that the cost is of, or "transition" (a
                             conversion of layouts); NULL: any */
    const char *device;   /* the fingerprint of a machine, or "here" for this one; NULL: any */
    double older_seconds; /* longer than that in the store; 0: any */
    bool failed;          /* failures only */
    /* Of a library version that is not installed here: costs of this machine only. If a library is
     * there but does not open, its version is not known, and its costs do not count. */
    bool uninstalled;
} collage_costs_filter;

/* Writes the costs that fit (filter NULL: all) as a table, a line each, and the machines that they
 * are of. *count: how many. Since 0.1. */
COLLAGE_API collage_status collage_costs_list(collage_context *context,
                                              const collage_costs_filter *filter,
                                              collage_write_fn write, void *user, uint64_t *count);
/* Removes the costs that fit, all or none; COLLAGE_ERROR_ARGUMENT if the filter asks for nothing.
 * *left: how many stay. Since 0.1. */
COLLAGE_API collage_status collage_costs_prune(collage_context *context,
                                               const collage_costs_filter *filter,
                                               uint64_t *removed, uint64_t *left);

#ifdef __cplusplus
}
#endif

#include <collage/registration.h>

#endif
