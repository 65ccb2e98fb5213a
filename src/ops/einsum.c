/* SPDX-License-Identifier: Apache-2.0 */
/*
 * einsum.c: Einsum. Each letter of the equation, and each dimension that an ellipsis stands for, is
 * a label with a size. An output element is the sum, over all values of the labels that the output
 * lacks, of the product of the operands' elements.
 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "ops/call.h"

enum {
    OPERANDS = 16, /* at most */
    LETTERS = 52,
    LABELS = LETTERS + COLLAGE_MAX_RANK /* the last ones: dimensions of the ellipsis */
};

/* The labels of an operand or of the output. */
struct term {
    int32_t count;
    int32_t labels[COLLAGE_MAX_RANK];
};

struct einsum {
    int32_t operands;
    struct term inputs[OPERANDS], output;
    int64_t size[LABELS];  /* -1: does not occur */
    int32_t times[LABELS]; /* occurrences in all operands */
    int32_t ellipsis;      /* dimensions it stands for, in the operand with most of them */
};

static int32_t label_of(char letter)
{
    return letter >= 'a' ? letter - 'a' + 26 : letter - 'A'; /* in the order of ASCII */
}

/* ---- reading the equation ---- */

/* Text between two places of the equation. */
struct span {
    const char *at, *end;
};

static bool skip(struct span *span, const char *text)
{
    while (span->at < span->end && *span->at == ' ')
        span->at++;
    size_t length = strlen(text);
    if ((size_t)(span->end - span->at) < length || memcmp(span->at, text, length) != 0)
        return false;
    span->at += length;
    return true;
}

static bool at_end(struct span *span)
{
    skip(span, "");
    return span->at == span->end;
}

static collage_status add_label(struct term *term, int32_t label, struct error *error)
{
    if (term->count == COLLAGE_MAX_RANK)
        return shape_error(error, "a term of the equation has more than %d dimensions",
                           COLLAGE_MAX_RANK);
    term->labels[term->count++] = label;
    return COLLAGE_OK;
}

/* A term, whose ellipsis stands for `ellipsis` dimensions; *has_ellipsis says if there is one. */
static collage_status read_term(struct span span, int32_t ellipsis, struct term *out,
                                bool *has_ellipsis, struct error *error)
{
    collage_status status = COLLAGE_OK;
    out->count = 0;
    *has_ellipsis = false;
    while (!at_end(&span) && status == COLLAGE_OK) {
        if (isascii(*span.at) && isalpha((unsigned char)*span.at)) {
            status = add_label(out, label_of(*span.at++), error);
        } else if (!*has_ellipsis && skip(&span, "...")) {
            *has_ellipsis = true;
            for (int32_t k = 0; k < ellipsis && status == COLLAGE_OK; k++)
                status = add_label(out, LABELS - ellipsis + k, error);
        } else {
            return shape_error(error, "the equation has a wrong character, '%c'",
                               isprint((unsigned char)*span.at) ? *span.at : '?');
        }
    }
    return status;
}

/* The sizes of an operand's labels; a label of 1 element broadcasts, but not within one operand. */
static collage_status read_sizes(struct einsum *e, const struct term *term,
                                 const struct tensor *operand, struct error *error)
{
    int64_t own[LABELS];
    for (int32_t k = 0; k < LABELS; k++)
        own[k] = -1;
    for (int32_t k = 0; k < term->count; k++) {
        int32_t label = term->labels[k];
        int64_t dim = operand->dims[k], *size = &e->size[label];
        bool fits = own[label] < 0 || own[label] == dim;
        fits = fits && (*size < 0 || *size == dim || *size == 1 || dim == 1);
        if (!fits)
            return shape_error(error,
                               "dimension %d of an operand, of %" PRId64
                               " elements, does not fit the others of its label",
                               (int)k, dim);
        own[label] = dim;
        if (*size < 0 || *size == 1)
            *size = dim;
        e->times[label]++;
    }
    return COLLAGE_OK;
}

static collage_status read_operand(const struct op_call *call, struct einsum *e, struct span span,
                                   struct error *error)
{
    if ((uint32_t)e->operands >= call->input_count)
        return shape_error(error, "the equation has more operands than the %" PRIu32 " inputs",
                           call->input_count);
    const struct tensor *operand = call->inputs[e->operands];
    struct term *term = &e->inputs[e->operands++];
    bool has_ellipsis;
    collage_status status = read_term(span, 0, term, &has_ellipsis, error);
    if (status != COLLAGE_OK)
        return status;
    int32_t rest = operand->rank - term->count;
    if (rest < 0 || (rest > 0 && !has_ellipsis))
        return shape_error(error, "operand %d has rank %d, in the equation it has %d labels",
                           (int)e->operands - 1, (int)operand->rank, (int)term->count);
    if (rest > e->ellipsis)
        e->ellipsis = rest;
    status = read_term(span, rest, term, &has_ellipsis, error);
    return status == COLLAGE_OK ? read_sizes(e, term, operand, error) : status;
}

/* Without "->": the ellipsis, then the labels that occur once, in alphabetic order. */
static collage_status implicit_output(struct einsum *e, struct error *error)
{
    collage_status status = COLLAGE_OK;
    for (int32_t k = 0; k < e->ellipsis && status == COLLAGE_OK; k++)
        status = add_label(&e->output, LABELS - e->ellipsis + k, error);
    for (int32_t k = 0; k < LETTERS && status == COLLAGE_OK; k++)
        if (e->times[k] == 1)
            status = add_label(&e->output, k, error);
    return status;
}

static collage_status explicit_output(struct einsum *e, struct span span, struct error *error)
{
    bool has_ellipsis, seen[LABELS] = { false };
    collage_status status = read_term(span, e->ellipsis, &e->output, &has_ellipsis, error);
    for (int32_t k = 0; k < e->output.count && status == COLLAGE_OK; k++) {
        int32_t label = e->output.labels[k];
        if (seen[label] || e->size[label] < 0)
            status = shape_error(error, "a label of the output is there twice or in no operand");
        seen[label] = true;
    }
    return status;
}

static const char *equation_of(const struct op_call *call)
{
    return collage_node_string(call->node, "equation", "");
}

static collage_status read(const struct op_call *call, struct einsum *e, struct error *error)
{
    const char *at = equation_of(call);
    const char *arrow = strstr(at, "->"), *end = arrow ? arrow : at + strlen(at);
    collage_status status = COLLAGE_OK;
    *e = (struct einsum){ 0 };
    for (int32_t k = 0; k < LABELS; k++)
        e->size[k] = -1;
    for (bool more = true; more && status == COLLAGE_OK;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        status = read_operand(call, e, (struct span){ at, comma ? comma : end }, error);
        more = comma != NULL;
        at = comma ? comma + 1 : end;
    }
    if (status == COLLAGE_OK && (uint32_t)e->operands != call->input_count)
        return shape_error(error, "the equation has %d operands, but there are %" PRIu32 " inputs",
                           (int)e->operands, call->input_count);
    if (status != COLLAGE_OK)
        return status;
    if (!arrow)
        return implicit_output(e, error);
    return explicit_output(e, (struct span){ arrow + 2, arrow + strlen(arrow) }, error);
}

collage_status infer_einsum(const struct op_call *call, struct error *error)
{
    struct einsum e;
    if (!collage_node_attribute(call->node, "equation", COLLAGE_ATTRIBUTE_STRING))
        return shape_error(error, "equation is missing");
    if (call->input_count > OPERANDS)
        return shape_error(error, "more than %d operands are not supported", OPERANDS);
    collage_status status = call_check_same_type(call, TYPES_NUMBER, error);
    if (status == COLLAGE_OK)
        status = read(call, &e, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor y = { .rank = e.output.count };
    for (int32_t k = 0; k < y.rank; k++)
        y.dims[k] = e.size[e.output.labels[k]];
    call_set_output(call, 0, call->inputs[0]->dtype, &y);
    return COLLAGE_OK;
}

/* ---- computing ---- */

/* Nested loops over the labels: first those of the output, then those that are summed. */
struct loops {
    int32_t outer, total;
    int64_t dims[LABELS], at[LABELS];
    int64_t strides[OPERANDS][LABELS];
    int64_t places[OPERANDS]; /* of the elements at hand */
    int32_t operands;
};

static void add_loop(struct loops *loops, const struct op_call *call, const struct einsum *e,
                     int32_t label)
{
    int32_t loop = loops->total++;
    loops->dims[loop] = e->size[label];
    for (int32_t o = 0; o < e->operands; o++) {
        const struct tensor *operand = call->inputs[o];
        int64_t stride = 1;
        for (int32_t k = operand->rank - 1; k >= 0; k--) {
            if (e->inputs[o].labels[k] == label && operand->dims[k] != 1)
                loops->strides[o][loop] += stride; /* twice on a diagonal */
            stride *= operand->dims[k];
        }
    }
}

static void begin_loops(struct loops *loops, const struct op_call *call, const struct einsum *e)
{
    bool outer[LABELS] = { false };
    *loops = (struct loops){ .operands = e->operands };
    for (int32_t k = 0; k < e->output.count; k++) {
        add_loop(loops, call, e, e->output.labels[k]);
        outer[e->output.labels[k]] = true;
    }
    loops->outer = loops->total;
    for (int32_t label = 0; label < LABELS; label++)
        if (e->size[label] >= 0 && !outer[label])
            add_loop(loops, call, e, label);
}

/* One step of the loops [from, to); false after the last, when all are at their start again. */
static bool advance(struct loops *loops, int32_t from, int32_t to)
{
    for (int32_t k = to - 1; k >= from; k--) {
        bool carry = ++loops->at[k] == loops->dims[k];
        int64_t moved = carry ? 1 - loops->dims[k] : 1;
        for (int32_t o = 0; o < loops->operands; o++)
            loops->places[o] += moved * loops->strides[o][k];
        if (!carry)
            return true;
        loops->at[k] = 0;
    }
    return false;
}

static double sum_of_products(const struct op_call *call, struct loops *loops)
{
    double sum = 0;
    do {
        double product = 1;
        for (int32_t o = 0; o < loops->operands; o++)
            product *= tensor_get(call->inputs[o], loops->places[o]);
        sum += product;
    } while (advance(loops, loops->outer, loops->total));
    return sum;
}

/* Modulo 2^64, as the type's own arithmetic is modulo less. */
static int64_t integer_sum_of_products(const struct op_call *call, struct loops *loops)
{
    uint64_t sum = 0;
    do {
        uint64_t product = 1;
        for (int32_t o = 0; o < loops->operands; o++)
            product *= (uint64_t)tensor_get_int(call->inputs[o], loops->places[o]);
        sum += product;
    } while (advance(loops, loops->outer, loops->total));
    return (int64_t)sum;
}

collage_status compute_einsum(const struct op_call *call, struct error *error)
{
    struct tensor *y = &call->outputs[0];
    struct einsum e;
    struct loops loops;
    collage_status status = read(call, &e, error);
    if (status != COLLAGE_OK)
        return status;
    begin_loops(&loops, call, &e);
    bool real = dtype_is_float(y->dtype), empty = false;
    for (int32_t k = loops.outer; k < loops.total; k++)
        empty = empty || loops.dims[k] == 0;
    int64_t count = tensor_elements(y);
    for (int64_t i = 0; i < count; i++) {
        if (empty)
            tensor_set_int(y, i, 0); /* all bits zero, whatever the type */
        else if (real)
            tensor_set(y, i, sum_of_products(call, &loops));
        else
            tensor_set_int(y, i, integer_sum_of_products(call, &loops));
        advance(&loops, 0, loops.outer);
    }
    return COLLAGE_OK;
}

/* An operation for each operand of each term: products, and their sum. */
double count_einsum(const struct op_call *call)
{
    struct einsum e;
    struct error error = { 0 };
    if (call->input_count > OPERANDS || read(call, &e, &error) != COLLAGE_OK)
        return 0;
    double terms = 1;
    for (int32_t k = 0; k < LABELS; k++)
        terms *= e.size[k] >= 0 ? (double)e.size[k] : 1;
    return terms * e.operands;
}
