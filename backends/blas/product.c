/* SPDX-License-Identifier: Apache-2.0 */
/*
 * product.c: the family of matrix products: which ways there are to run one, and running it.
 */
#include "product.h"

#include <stdlib.h>
#include <string.h>

static const struct blas_choice choices[] = {
    { .name = "gemm", .call = BLAS_GEMM },
    { .name = "gemv", .call = BLAS_GEMV },
    { .name = "batch", .call = BLAS_GEMM_BATCH },
    { .name = "split", .call = BLAS_GEMM, .sharing = BLAS_SPLIT },
    { .name = "split_gemv", .call = BLAS_GEMV, .sharing = BLAS_SPLIT },
    { .name = "gemm/1t", .call = BLAS_GEMM, .single = true },
    { .name = "gemv/1t", .call = BLAS_GEMV, .single = true },
};
enum { CHOICES = sizeof choices / sizeof choices[0] };

/* Results that a thread makes at a time: they are finished while they are in its cache. */
enum { PART_FLOATS = 64 * 1024, PART_COLUMNS = 16, FINISH_FLOATS = 16 * 1024 };

/* Pointers to the items of a batch. */
struct pointers {
    const float **a, **b;
    float **result;
};

struct product_plan {
    struct product product;
    struct epilogue epilogue;
    const struct blas_choice *choice;
    const struct finish_kernels *finish;
    struct pointers pointers; /* BLAS_GEMM_BATCH */
    int64_t rows, columns;    /* of a part */
    int64_t parts_m, parts_n; /* of an item */
    int32_t threads;
};

/* A call of `run`. */
struct product_call {
    const struct blas *blas;
    const struct product_plan *plan;
    const void *const *inputs;
    float *to;
};

/* ---- describing ---- */

static bool fits(const struct blas_choice *choice, const struct product *product)
{
    bool vector = product->m == 1 || product->n == 1;
    if (choice->call == BLAS_GEMV)
        return vector;
    if (choice->call == BLAS_GEMM_BATCH)
        return flavour.has_batch && product->batch > 1;
    return true;
}

static bool takes(const collage_subgraph *subgraph, const collage_target *target,
                  collage_message *why)
{
    (void)target;
    struct product product;
    struct epilogue epilogue;
    return product_read(&product, &epilogue, subgraph, why);
}

static bool variant(const collage_subgraph *subgraph, const collage_target *target, size_t index,
                    collage_variant *out)
{
    struct product product;
    struct epilogue epilogue;
    if (!product_read(&product, &epilogue, subgraph, NULL))
        return false;
    for (size_t k = 0; k < CHOICES; k++) {
        if (!fits(&choices[k], &product) || !blas_offers(&choices[k], subgraph, target) ||
            index-- > 0)
            continue;
        snprintf(out->name, sizeof out->name, "%s", choices[k].name);
        return true;
    }
    return false;
}

/* ---- compiling ---- */

static void destroy(collage_kernel *kernel)
{
    struct product_plan *plan = kernel->state;
    if (!plan)
        return;
    epilogue_free(&plan->epilogue);
    free(plan->pointers.a);
    free(plan->pointers.b);
    free(plan->pointers.result);
    free(plan);
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Parts of an item, along its longer side: enough for all threads, small enough for their caches.
 */
static void set_parts(struct product_plan *plan)
{
    const struct product *p = &plan->product;
    int64_t wanted = divide_up(plan->threads, p->batch);
    int64_t cached = divide_up(p->m * p->n, PART_FLOATS);
    wanted = cached > wanted ? cached : wanted;
    plan->rows = p->m;
    plan->columns = p->n;
    if (p->m >= p->n) {
        plan->rows = divide_up(p->m, wanted);
    } else {
        plan->columns = divide_up(divide_up(p->n, wanted), PART_COLUMNS) * PART_COLUMNS;
    }
    plan->parts_m = divide_up(p->m, plan->rows);
    plan->parts_n = divide_up(p->n, plan->columns);
}

static collage_status set_pointers(struct product_plan *plan, const struct library *library,
                                   collage_message *message)
{
    if (!library->sgemm_batch)
        return fail(message, COLLAGE_ERROR_UNSUPPORTED, "%s has no cblas_sgemm_batch",
                    flavour.title);
    size_t count = (size_t)plan->product.batch;
    if (!blas_fits(plan->product.batch))
        return fail(message, COLLAGE_ERROR_UNSUPPORTED, "too many items in a batch");
    plan->pointers.a = calloc(count, sizeof *plan->pointers.a);
    plan->pointers.b = calloc(count, sizeof *plan->pointers.b);
    plan->pointers.result = calloc(count, sizeof *plan->pointers.result);
    return plan->pointers.a && plan->pointers.b && plan->pointers.result
               ? COLLAGE_OK
               : fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
}

static const struct blas_choice *find_choice(const struct product *product, const char *name)
{
    for (size_t k = 0; k < CHOICES; k++) {
        if (strcmp(choices[k].name, name) == 0 && fits(&choices[k], product))
            return &choices[k];
    }
    return NULL;
}

static collage_status compile(collage_kernel *kernel, const collage_compile_request *request,
                              const char *name, collage_message *message)
{
    const collage_subgraph *subgraph = request->subgraph;
    struct product_plan *plan = calloc(1, sizeof *plan);
    kernel->state = plan;
    if (!plan)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    struct product *product = &plan->product;
    if (!product_read(product, &plan->epilogue, subgraph, message))
        return COLLAGE_ERROR_UNSUPPORTED;
    plan->choice = find_choice(product, name);
    if (!plan->choice)
        return fail(message, COLLAGE_ERROR_UNSUPPORTED, "there is no variant '%s'", name);
    plan->threads = plan->choice->single ? 1 : kernel->threads;
    plan->finish = ISA_PICK(kernel->isa, finish_kernels);
    const struct library *library = &blas_of(kernel)->library;
    collage_status status = COLLAGE_OK;
    if (plan->choice->call == BLAS_GEMM_BATCH)
        status = set_pointers(plan, library, message);
    if (status == COLLAGE_OK && product->has_epilogue)
        status = epilogue_make(&plan->epilogue, subgraph, product->node + 1, product->made,
                               subgraph->values[product->made]->rank - 1, product->bias, message);
    set_parts(plan);
    snprintf(kernel->implementation, sizeof kernel->implementation, "%s %s x%lld %.20s",
             plan->choice->name, product->b.transposed ? "NT" : "NN", (long long)product->batch,
             library->kernels);
    return status;
}

/* ---- running ---- */

/* Rows [row, row + m) and columns [column, column + n) of an item. */
struct part {
    int64_t item, row, column, m, n;
};

static const float *part_of(const struct product_call *call, const struct matrix *matrix,
                            int64_t item, int64_t row, int64_t column)
{
    return operand_address(&matrix->from, call->inputs) +
           product_offset(&call->plan->product, matrix, item) +
           (matrix->transposed ? column * matrix->step + row : row * matrix->step + column);
}

static int64_t result_offset(const struct product *product, const struct part *part)
{
    return product_offset(product, &product->result, part->item) +
           part->row * product->result.step + part->column;
}

static void start(const struct product_call *call, const struct part *part)
{
    const struct product *product = &call->plan->product;
    if (product->beta == 0.0f)
        return;
    const float *from = operand_address(&product->initial, call->inputs);
    float *to = call->to + result_offset(product, part);
    for (int64_t i = 0; i < part->m; i++) {
        const float *row = from + (part->row + i) * product->row_step;
        for (int64_t j = 0; j < part->n; j++)
            to[i * product->result.step + j] = row[(part->column + j) * product->column_step];
    }
}

static int transposition(const struct matrix *matrix)
{
    return matrix->transposed ? BLAS_TRANSPOSED : BLAS_PLAIN;
}

/* A row times B, or A times a column. */
static void multiply_vector(const struct product_call *call, const struct part *part,
                            const float *a, const float *b, float *to)
{
    const struct product *p = &call->plan->product;
    const struct library *library = &call->blas->library;
    if (p->m == 1) { /* B' * a': rows of what lies in memory are K, or N if it is transposed */
        bool transposed = p->b.transposed;
        library->sgemv(BLAS_ROW_MAJOR, transposed ? BLAS_PLAIN : BLAS_TRANSPOSED,
                       (int)(transposed ? part->n : p->k), (int)(transposed ? p->k : part->n),
                       p->alpha, b, (int)p->b.step, a, p->a.transposed ? (int)p->a.step : 1,
                       p->beta, to, 1);
    } else {
        bool transposed = p->a.transposed;
        library->sgemv(BLAS_ROW_MAJOR, transposition(&p->a), (int)(transposed ? p->k : part->m),
                       (int)(transposed ? part->m : p->k), p->alpha, a, (int)p->a.step, b,
                       p->b.transposed ? 1 : (int)p->b.step, p->beta, to, (int)p->result.step);
    }
}

static void multiply(const struct product_call *call, const struct part *part)
{
    const struct product *p = &call->plan->product;
    const float *a = part_of(call, &p->a, part->item, part->row, 0);
    const float *b = part_of(call, &p->b, part->item, 0, part->column);
    float *to = call->to + result_offset(p, part);
    start(call, part);
    if (call->plan->choice->call == BLAS_GEMV)
        multiply_vector(call, part, a, b, to);
    else
        call->blas->library.sgemm(BLAS_ROW_MAJOR, transposition(&p->a), transposition(&p->b),
                                  (int)part->m, (int)part->n, (int)p->k, p->alpha, a,
                                  (int)p->a.step, b, (int)p->b.step, p->beta, to,
                                  (int)p->result.step);
}

static void finish(const struct product_call *call, const struct part *part)
{
    const struct product_plan *plan = call->plan;
    if (plan->epilogue.count == 0)
        return;
    int64_t offset = result_offset(&plan->product, part);
    struct finish_part rows = { call->to + offset,         part->m, part->n,
                                plan->product.result.step, offset,  part->column };
    plan->finish->columns(&plan->epilogue, &rows, call->inputs);
}

static struct part whole_item(const struct product *product, int64_t item)
{
    return (struct part){ item, 0, 0, product->m, product->n };
}

static void run_parts(void *context, int32_t thread, int32_t threads)
{
    const struct product_call *call = context;
    const struct product_plan *plan = call->plan;
    const struct product *p = &plan->product;
    int64_t begin, end, each = plan->parts_m * plan->parts_n;
    pool_share(p->batch * each, thread, threads, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        struct part part = { .item = unit / each,
                             .row = unit % each / plan->parts_n * plan->rows,
                             .column = unit % plan->parts_n * plan->columns };
        part.m = p->m - part.row < plan->rows ? p->m - part.row : plan->rows;
        part.n = p->n - part.column < plan->columns ? p->n - part.column : plan->columns;
        multiply(call, &part);
        finish(call, &part);
    }
}

/* Rows of all items, shared evenly. */
static void finish_rows(void *context, int32_t thread, int32_t threads)
{
    const struct product_call *call = context;
    const struct product *p = &call->plan->product;
    int64_t row, end;
    pool_share(p->batch * p->m, thread, threads, &row, &end);
    while (row < end) {
        struct part part = { row / p->m, row % p->m, 0, p->m - row % p->m, p->n };
        part.m = part.m < end - row ? part.m : end - row;
        finish(call, &part);
        row += part.m;
    }
}

static void multiply_batch(const struct product_call *call)
{
    const struct product *p = &call->plan->product;
    const struct pointers *pointers = &call->plan->pointers;
    for (int64_t item = 0; item < p->batch; item++) {
        pointers->a[item] = part_of(call, &p->a, item, 0, 0);
        pointers->b[item] = part_of(call, &p->b, item, 0, 0);
        const struct part part = whole_item(p, item);
        pointers->result[item] = call->to + result_offset(p, &part);
    }
    const int transpose_a = transposition(&p->a), transpose_b = transposition(&p->b);
    const int m = (int)p->m, n = (int)p->n, k = (int)p->k, size = (int)p->batch;
    const int step_a = (int)p->a.step, step_b = (int)p->b.step, step = (int)p->result.step;
    call->blas->library.sgemm_batch(BLAS_ROW_MAJOR, &transpose_a, &transpose_b, &m, &n, &k,
                                    &p->alpha, pointers->a, &step_a, pointers->b, &step_b, &p->beta,
                                    pointers->result, &step, 1, &size);
}

static void run(const collage_kernel *kernel, const void *const *inputs, void *const *outputs,
                void *scratch)
{
    (void)scratch;
    const struct product_plan *plan = kernel->state;
    const struct product *product = &plan->product;
    struct product_call call = { blas_of(kernel), plan, inputs, outputs[0] };
    const struct pool *pool = &kernel->backend->pool;
    if (plan->choice->sharing == BLAS_SPLIT) {
        flavour.use_threads(&call.blas->library, 1);
        pool_run(pool, plan->threads, run_parts, &call);
        return;
    }
    flavour.use_threads(&call.blas->library, plan->threads);
    if (plan->choice->call == BLAS_GEMM_BATCH) {
        multiply_batch(&call);
    } else {
        for (int64_t item = 0; item < product->batch; item++) {
            const struct part part = whole_item(product, item);
            multiply(&call, &part);
        }
    }
    if (plan->epilogue.count == 0)
        return;
    int64_t floats = product->batch * product->m * product->n;
    pool_run(pool, floats < FINISH_FLOATS ? 1 : plan->threads, finish_rows, &call);
}

const struct family product_family = {
    .name = "product",
    .takes = takes,
    .variant = variant,
    .compile = compile,
    .run = run,
    .destroy = destroy,
};
