/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend.h: the plugin ABI of Collage.
 *
 * A backend is a shared object that exports one function, collage_backend_entry, which returns a
 * constant table of functions. The host asks it, in this order:
 *
 *   1. describing   patterns, supports, variant: which sub-graphs it could run, in which layouts.
 * Called in the host's own process BEFORE the library is loaded; these must not load it.
 *   2. open         loads the library (dlopen), after the host has set the variables in
 * `environment`.
 *   3. compile, run one sub-graph for given shapes, layouts and threads becomes a kernel, which is
 * run.
 *
 * While optimising, 2 and 3 happen in worker processes: a crash, a hang or a wrong answer costs
 * that one candidate. At run time only verified kernels of an unchanged library version are
 * compiled in process.
 *
 * The ABI is append-only: tables and structs start with struct_size, NULL functions are optional
 * where it is said, and unknown trailing fields are ignored. docs/backends.md has a worked example.
 */
#ifndef COLLAGE_BACKEND_H
#define COLLAGE_BACKEND_H

#include <collage/collage.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COLLAGE_ABI_MAJOR 2u
#define COLLAGE_ABI_MINOR 4u

/* One line that says what is wrong, written by whoever returns a failure. */
typedef struct collage_message {
    char text[512];
} collage_message;

/* ---- sub-graphs ---- */

/*
 * How a dense tensor lies in memory, as a tag in the spelling of oneDNN: the logical dimensions a,
 * b, c, ... from the outermost to the innermost; a capital letter is blocked, and its block sizes
 * follow, outermost first.
 *     ""         row-major (the same as "abcd" for rank 4)
 *     "acdb"     permuted: NHWC for a logical NCHW
 *     "aBcd16b"  nChw16c; the blocked dimension is padded to a multiple of its blocks, the padding
 * holds zeros
 *     "!name"    private to one backend; the host cannot convert it
 */
typedef struct collage_layout {
    char tag[24];
} collage_layout;

typedef enum collage_attribute_kind {
    COLLAGE_ATTRIBUTE_INT = 1,
    COLLAGE_ATTRIBUTE_FLOAT,
    COLLAGE_ATTRIBUTE_STRING,
    COLLAGE_ATTRIBUTE_INTS,
    COLLAGE_ATTRIBUTE_FLOATS,
    COLLAGE_ATTRIBUTE_GRAPH
} collage_attribute_kind;

struct collage_subgraph;

typedef struct collage_attribute {
    const char *name;
    collage_attribute_kind kind;
    uint32_t count;      /* of ints or floats; bytes of a string */
    int64_t i;           /* INT */
    float f;             /* FLOAT */
    const char *s;       /* STRING, terminated */
    const int64_t *ints; /* INTS */
    const float *floats; /* FLOATS */
    /* GRAPH: the body of an If or a Loop. What it takes from around it are its last inputs,
     * constants too: no value of it has data. */
    const struct collage_subgraph *graph;
} collage_attribute;

/*
 * What a constant was dequantized from: (integers - zero) * scale, as DequantizeLinear has it, with
 * one scale and one zero for all, for each index of `axis`, or for each block of `block_size` of
 * them (0: no blocks). Indices into the sub-graph's values, all of which are constants.
 */
typedef struct collage_dequantized {
    uint32_t integers, scale, zero; /* zero: COLLAGE_NO_VALUE if there is none */
    int64_t axis, block_size;
} collage_dequantized;

/* A tensor of a sub-graph. Shapes are static. */
typedef struct collage_value {
    const char *name; /* unique in the sub-graph */
    collage_dtype dtype;
    int32_t rank;
    const int64_t *dims;
    const void *data;   /* constants: row-major contents, mapped and read-only; else NULL */
    uint64_t bytes;     /* rank-product times element size */
    uint64_t share_key; /* constants: equal keys mean equal contents in this process (packed weights
                           may be shared); 0: do not share */
    /* Float32 constants that a node reads beside what a DequantizeLinear of the sub-graph makes:
     * libraries with kernels for integers want what they were made of. `data` is the float32 all
     * the same. NULL: all others. */
    const collage_dequantized *dequantized;
} collage_value;

#define COLLAGE_NO_VALUE UINT32_MAX /* an optional input that is left out */

/*
 * An operator, with ONNX's name, attributes and semantics (opset 28 of the default domain). Two
 * differ, since bodies take everything as inputs: If    inputs: condition, captured...; then_branch
 * and else_branch take all that is captured Loop  inputs: trip count, condition, carried...,
 * captured...; body takes the number of the iteration, the condition, what is carried, what is
 * captured; gives the condition, what is carried
 */
typedef struct collage_node {
    const char *op_type;
    const char *name;       /* for messages; may be empty */
    const uint32_t *inputs; /* indices into the sub-graph's values, or COLLAGE_NO_VALUE */
    uint32_t input_count;
    const uint32_t *outputs;
    uint32_t output_count;
    const collage_attribute *attributes;
    uint32_t attribute_count;
} collage_node;

typedef struct collage_subgraph {
    size_t struct_size;
    const collage_value *const *values;
    uint32_t value_count;
    const collage_node *const *nodes; /* in topological order */
    uint32_t node_count;
    const uint32_t *inputs; /* values that come from outside and are not constant */
    uint32_t input_count;
    const uint32_t *outputs; /* values that are used outside */
    uint32_t output_count;
    int32_t opset; /* of the default domain */
} collage_subgraph;

/* The attribute of that name and kind, or NULL. */
static inline const collage_attribute *
collage_node_attribute(const collage_node *node, const char *name, collage_attribute_kind kind)
{
    for (uint32_t k = 0; k < node->attribute_count; k++) {
        const char *a = node->attributes[k].name;
        const char *b = name;
        while (*a && *a == *b) {
            a++;
            b++;
        }
        if (*a == *b && node->attributes[k].kind == kind)
            return &node->attributes[k];
    }
    return NULL;
}

static inline int64_t collage_node_int(const collage_node *node, const char *name, int64_t fallback)
{
    const collage_attribute *a = collage_node_attribute(node, name, COLLAGE_ATTRIBUTE_INT);
    return a ? a->i : fallback;
}

static inline float collage_node_float(const collage_node *node, const char *name, float fallback)
{
    const collage_attribute *a = collage_node_attribute(node, name, COLLAGE_ATTRIBUTE_FLOAT);
    return a ? a->f : fallback;
}

static inline const char *collage_node_string(const collage_node *node, const char *name,
                                              const char *fallback)
{
    const collage_attribute *a = collage_node_attribute(node, name, COLLAGE_ATTRIBUTE_STRING);
    return a ? a->s : fallback;
}

/* ---- patterns ---- */

/*
 * A pattern is a chain: an operator, then optional consumers, each of which uses the single-use
 * output of the one before it. The grammar (docs/patterns.md): pattern = set { " " set [ "*" number
 * ] }        set = Op | "(" Op { "|" Op } ")" Example: "Conv (Relu|Clip|Add|Mul)*4". Every prefix
 * is a candidate; `supports` then decides on each. Users may add patterns of any shape in files
 * (docs/patterns.md): `supports` may be asked about any convex sub-graph, with several outputs too.
 */
typedef struct collage_pattern {
    const char *name;
    const char *text;
} collage_pattern;

/* ---- targets, variants, compiling ---- */

/* What the host knows of the machine that candidates will run on. */
typedef struct collage_target {
    size_t struct_size;
    int32_t threads;
    int32_t device;    /* index into the backend's devices; 0 is the host for CPU backends */
    bool avx2, avx512; /* AVX2 with FMA; AVX-512 F, BW, DQ and VL */
    bool vnni;         /* AVX-VNNI or AVX-512 VNNI: sums of products of 8-bit integers that do not
                          saturate on the way */
} collage_target;

/* What is to be known of a variant. */
enum {
    /* It computes sums of products by an algorithm that is not within the bound of direct summation
     * (gamma_k times the sum of |a| |b|, k the length of the sum): Winograd's, for one. Such are
     * not offered with strict precision. Another order of the sum is within. */
    COLLAGE_VARIANT_INDIRECT = 1u << 0,
    COLLAGE_VARIANT_CODE = 1u << 1 /* compiling it asks the host for code (make_code,
                                           make_named_code) */
};

/* One way to run a sub-graph: an algorithm and the layouts at its border. The host points `inputs`
 * and `outputs` at arrays as long as the sub-graph's, all row-major; the backend overwrites what
 * differs. */
typedef struct collage_variant {
    size_t struct_size;
    char name[32];
    collage_layout *inputs;
    collage_layout *outputs;
    /* Since ABI 2.3: COLLAGE_VARIANT_*, 0 unless the backend sets it. An older host's variant ends
     * before it: see struct_size. */
    uint32_t flags;
} collage_variant;

/*
 * Since ABI 2.2. How a kernel of one variant cuts its work: sizes of blocks and tiles, what the
 * threads share, how far loops are unrolled. A schedule changes the time, never the result beyond
 * rounding, nor layouts. The text is the backend's own, 1 to 95 printable characters of ASCII with
 * no space at either end, such as "tiles=28 channels=4": it is kept in stores, logs and plans, and
 * goes back to `compile` as it is.
 */
#define COLLAGE_SCHEDULE_BYTES 96
typedef struct collage_schedule {
    size_t struct_size;
    char text[COLLAGE_SCHEDULE_BYTES];
} collage_schedule;

enum {
    COLLAGE_COMPILE_UNSHARED = 1u << 0, /* do not share packed weights with other kernels */
    COLLAGE_COMPILE_STANDALONE =
        1u << 1, /* the library alone: its own defaults and thread pool, from model_path */
    COLLAGE_COMPILE_REDUCED =
        1u << 2 /* TF32, bf16 or similar are allowed; otherwise float32 means float32 */
};

typedef struct collage_compile_request {
    size_t struct_size;
    const collage_subgraph
        *subgraph; /* valid during compile only, but constants' data outlive the kernel */
    const collage_variant
        *variant; /* one that `variant` gave; all row-major if the backend gives none */
    const collage_target *target;
    uint32_t flags;
    const char *model_path; /* STANDALONE: the ONNX file as the user gave it; the sub-graph is the
                               whole model */
    /* Since ABI 2.2: one that `schedule` gave for the variant, or NULL: as the backend likes. An
     * older host's request ends before it: see struct_size. */
    const char *schedule;
} collage_compile_request;

typedef struct collage_kernel_info {
    size_t struct_size;
    uint64_t
        scratch_bytes; /* scratch memory that `run` needs, 64-byte aligned, contents undefined */
    uint64_t weight_bytes;   /* packed weights that this kernel holds, shared ones included */
    uint32_t inplace_count;  /* pairs in inplace: output inplace[2k] may lie in input inplace[2k+1];
                                the */
    uint32_t inplace[8];     /* kernel is right with or without it, and faster with it */
    char implementation[96]; /* what the library chose, for reports */
} collage_kernel_info;

/* ---- the host's services ---- */

typedef struct collage_host {
    size_t struct_size;
    void *context;
    void (*log)(void *context, collage_log_level level, const char *line);
    /* Serialises a sub-graph as an ONNX model. Constants of more than inline_limit bytes become
     * external initializers named as in the sub-graph, with the location "collage" (for libraries
     * that take their memory separately, or from a file of that name that the backend writes: the
     * constants lie in it in the order of the sub-graph's values, each from a multiple of 64
     * bytes); UINT64_MAX puts all inline. What was dequantized is no initializer: its integers are,
     * and a DequantizeLinear makes it. *bytes is freed with `release`. */
    collage_status (*export_onnx)(void *context, const collage_subgraph *subgraph,
                                  uint64_t inline_limit, void **bytes, size_t *count,
                                  collage_message *message);
    void (*release)(void *context, void *bytes);
    /* Since ABI 2.3; an older host's table ends before it. The shared object that the system's C
     * compiler makes of a source (one file, GNU C17, standard headers only; options: what it is
     * given beside -O3, such as "-mavx2", NULL-terminated). Made while optimising, and kept; what a
     * plan's kernels asked for travels beside the plan (docs/plan-format.md), and is all that there
     * is when it runs: the source must depend on nothing but the compile request. To be called in
     * `compile` only. COLLAGE_ERROR_UNSUPPORTED: there is no compiler, or it does not do what it
     * should: refuse the variant with this message. *bytes is freed with `release`. */
    collage_status (*make_code)(void *context, const char *source, const char *const *options,
                                void **bytes, size_t *count, collage_message *message);
    /* Since ABI 2.4. The same for a source that does not follow from the compile request alone,
     * such as one that the library's own compiler makes: what is made of it is kept, and travels
     * with plans, under a name that does: any text. source NULL: what there is under the name;
     * COLLAGE_OK with *bytes NULL: nothing yet, make the source and ask again. When a plan runs
     * that is never the answer. */
    collage_status (*make_named_code)(void *context, const char *name, const char *source,
                                      const char *const *options, void **bytes, size_t *count,
                                      collage_message *message);
} collage_host;

/* ---- devices (all optional; a backend without them runs on the host) ---- */

typedef struct collage_backend collage_backend; /* an open library */
typedef struct collage_kernel
    collage_kernel; /* a compiled sub-graph; used by one thread at a time */
typedef struct collage_stream collage_stream; /* an in-order queue of a device; NULL for the host */
typedef struct collage_buffer collage_buffer; /* device memory */

typedef struct collage_device_info {
    size_t struct_size;
    char name[96];
    DLDeviceType type;
    uint64_t memory_bytes;
} collage_device_info;

/* ---- the table ---- */

typedef enum collage_backend_kind {
    COLLAGE_OP_LEVEL = 1,   /* kernels for operators and small patterns */
    COLLAGE_GRAPH_LEVEL = 2 /* takes any convex region whose nodes it supports */
} collage_backend_kind;

enum {
    COLLAGE_THREADS_OBEYED = 1u << 0, /* uses exactly target.threads, the calling thread included */
    COLLAGE_THREADS_NONE = 1u << 1,   /* runs in the calling thread only */
    COLLAGE_THREADS_QUIET = 1u << 2,  /* no thread spins after a run, given `environment` */
    /* Since ABI 2.3: kernels may run at the same time, each in a thread of its own, which need not
     * be the one that compiled it, on as many threads as it was compiled for (OBEYED) or one
     * (NONE). Compiling and destroying still come one at a time, with no kernel running. */
    COLLAGE_THREADS_CONCURRENT = 1u << 3
};

typedef struct collage_backend_api {
    size_t struct_size;
    uint32_t abi_major, abi_minor;
    const char *name; /* lower case; unique among the plugins */
    collage_backend_kind kind;

    /* Thread contract: variables ("NAME=VALUE", NULL-terminated; "{threads}" is replaced by the
     * budget) that the host sets before `open` unless the user has set them, and what may be relied
     * on then. */
    const char *const *environment;
    uint32_t thread_flags;

    /* 1. Describing: needs no library; safe from any thread. */
    const collage_pattern *patterns; /* op-level; pattern_text says more than chains */
    size_t pattern_count;
    /* Can this sub-graph be run? If not, *why says so in words. Graph-level backends are asked node
     * by node. */
    bool (*supports)(const collage_subgraph *subgraph, const collage_target *target,
                     collage_message *why);
    /* The index-th way to run a supported sub-graph; false when there are no more. NULL: one, all
     * row-major. */
    bool (*variant)(const collage_subgraph *subgraph, const collage_target *target, size_t index,
                    collage_variant *out);

    /* 2. The library. One open at a time in a process. */
    collage_status (*open)(const collage_host *host, const collage_target *target,
                           collage_backend **out, collage_message *message);
    void (*close)(collage_backend *backend);
    const char *(*version)(const collage_backend *backend);

    /* 3. Kernels. compile may allocate and start threads; run may not allocate in the steady state.
     * inputs and outputs: one pointer for each of the sub-graph's, in the variant's layouts,
     * 64-byte aligned except where they are the caller's own tensors (then aligned to the element).
     */
    collage_status (*compile)(collage_backend *backend, const collage_compile_request *request,
                              collage_kernel **out, collage_message *message);
    void (*kernel_info)(const collage_kernel *kernel, collage_kernel_info *info);
    collage_status (*run)(collage_kernel *kernel, collage_stream *stream, const void *const *inputs,
                          void *const *outputs, void *scratch, collage_message *message);
    void (*kernel_destroy)(collage_kernel *kernel);

    /* 4. Optional. A cost in nanoseconds instead of a measurement (negative: measure). */
    double (*estimate)(const collage_subgraph *subgraph, const collage_target *target,
                       const collage_variant *variant);

    /* 5. Devices: all or none. */
    uint32_t (*device_count)(collage_backend *backend);
    collage_status (*device_describe)(collage_backend *backend, uint32_t device,
                                      collage_device_info *info);
    collage_status (*buffer_create)(collage_backend *backend, uint32_t device, uint64_t bytes,
                                    collage_buffer **out, void **address, collage_message *message);
    void (*buffer_destroy)(collage_buffer *buffer);
    collage_status (*copy)(collage_stream *stream, void *to, const void *from, uint64_t bytes,
                           collage_message *message); /* either side may be the host */
    collage_status (*stream_create)(collage_backend *backend, uint32_t device, collage_stream **out,
                                    collage_message *message);
    collage_status (*stream_synchronize)(collage_stream *stream, collage_message *message);
    void (*stream_destroy)(collage_stream *stream);

    /* Since ABI 2.1. Optional: what a file of patterns would say (docs/patterns.md), its first line
     * `collage_patterns 1` included: patterns of any shape, chains and rules, offered beside
     * `patterns`. A `backend` line may name this backend only, and may be left out. A text that
     * does not parse makes the plugin malformed. An op-level backend needs one of the two. */
    const char *pattern_text;

    /* Since ABI 2.2. Optional: the index-th schedule of a variant beside the backend's own choice;
     * false when there are no more. The host measures them when it is told to tune (at most 64),
     * and passes the best one to `compile`. Part of describing: no library, safe from any thread.
     * `compile` must refuse a schedule that it does not know. */
    bool (*schedule)(const collage_subgraph *subgraph, const collage_target *target,
                     const collage_variant *variant, size_t index, collage_schedule *out);
} collage_backend_api;

/* The one exported symbol. Returns NULL if host_major is not an ABI it speaks. */
typedef const collage_backend_api *(*collage_backend_entry_fn)(uint32_t host_major);
#define COLLAGE_BACKEND_ENTRY_NAME "collage_backend_entry"
#define COLLAGE_BACKEND_EXPORT     __attribute__((visibility("default")))

#ifdef __cplusplus
}
#endif

#endif
