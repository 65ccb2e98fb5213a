/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/given.h"

#include <fnmatch.h>
#include <string.h>

#include "base/file.h"
#include "base/printable.h"
#include "tensor/tensor.h"

static const char header[] = "collage_given_costs 1";

/* What a line asks of a candidate; NULL, 0: nothing. Texts are globs. */
struct given_line {
    const char *backend, *operators; /* backend NULL: any */
    const char *in, *out, *dtype, *variant;
    int32_t threads;
    bool never;
    double cost_ns;
    uint32_t number; /* of the line */
};

struct given_file {
    struct arena *arena;
    const char *path;
    struct given_line *lines;
    size_t count, capacity;
};

/* ---- reading ---- */

struct reader {
    struct given_file *file;
    uint32_t number;
    struct error *error;
};

static bool fail(const struct reader *reader, const char *expected)
{
    error_set(reader->error, COLLAGE_ERROR_FORMAT, "%.200s:%u: expected %s", reader->file->path,
              reader->number, expected);
    return false;
}

/* Digits with at most one point among them, whatever the locale; NULL if there are none. */
static const char *read_number(const char *text, double *value)
{
    double scale = 0;
    bool digits = false;
    *value = 0;
    for (; (*text >= '0' && *text <= '9') || (*text == '.' && scale == 0); text++) {
        if (*text == '.') {
            scale = 1;
            continue;
        }
        digits = true;
        *value = *value * 10 + (*text - '0');
        scale *= 10;
    }
    if (scale > 1)
        *value /= scale;
    return digits ? text : NULL;
}

static bool read_cost(const struct reader *reader, const char *word, struct given_line *line)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
    static const char wanted[] =
        "a cost of more than 0 ns and at most 1e15 ns, such as 8.2us, or 'never'";
    double value;
    line->never = strcmp(word, "never") == 0;
    if (line->never)
        return true;
    const char *unit = read_number(word, &value);
    for (size_t k = 0; unit && k < sizeof units / sizeof units[0]; k++)
        if (strcmp(unit, units[k].name) == 0)
            line->cost_ns = value * units[k].ns;
    if (!(line->cost_ns > 0 && line->cost_ns <= GIVEN_MOST_NS))
        return fail(reader, wanted);
    return true;
}

static bool read_threads(const struct reader *reader, const char *text, struct given_line *line)
{
    double value;
    const char *end = read_number(text, &value);
    if (!end || *end || strchr(text, '.') || value < 1 || value > 4096)
        return fail(reader, "threads=1 to threads=4096");
    line->threads = (int32_t)value;
    return true;
}

static bool read_condition(const struct reader *reader, const char *word, struct given_line *line)
{
    const struct {
        const char *name;
        const char **out;
    } texts[] = { { "in=", &line->in },
                  { "out=", &line->out },
                  { "dtype=", &line->dtype },
                  { "variant=", &line->variant } };
    if (strncmp(word, "threads=", 8) == 0)
        return line->threads ? fail(reader, "'threads=' once")
                             : read_threads(reader, word + 8, line);
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        size_t length = strlen(texts[k].name);
        if (strncmp(word, texts[k].name, length) != 0)
            continue;
        if (*texts[k].out || !word[length])
            return fail(reader, "each condition once, and with a value");
        *texts[k].out = word + length;
        return true;
    }
    return fail(reader, "'in=', 'out=', 'dtype=', 'variant=' or 'threads='");
}

/* The next word, terminated; NULL: there is none. */
static char *take_word(char **rest)
{
    char *word;
    do
        word = strsep(rest, " \t\r");
    while (word && !*word);
    return word;
}

static bool read_line(const struct reader *reader, char *text)
{
    struct given_file *file = reader->file;
    struct given_line line = { .number = reader->number };
    line.backend = take_word(&text);
    line.operators = take_word(&text);
    const char *cost = take_word(&text);
    if (!cost)
        return fail(reader, "a backend, operators and a cost");
    if (strlen(line.backend) > GIVEN_WORD || strlen(line.operators) > GIVEN_OPERATORS)
        return fail(reader, "shorter words");
    if (strcmp(line.backend, "any") == 0)
        line.backend = NULL;
    if (!read_cost(reader, cost, &line))
        return false;
    for (const char *word; (word = take_word(&text));)
        if (!read_condition(reader, word, &line))
            return false;
    if (file->count == GIVEN_LINES)
        return fail(reader, "no more lines");
    if (!memory_grow((void **)&file->lines, &file->capacity, file->count, sizeof *file->lines)) {
        error_memory(reader->error);
        return false;
    }
    file->lines[file->count++] = line;
    return true;
}

static bool read_lines(struct reader *reader, char *text)
{
    for (char *line; (line = strsep(&text, "\n"));) {
        reader->number++;
        size_t length = strcspn(line, "\r");
        if (reader->number == 1) {
            if (strncmp(line, header, length) != 0 || length != sizeof header - 1)
                return fail(reader, "'collage_given_costs 1'");
            continue;
        }
        for (char *c = line; *c; c++)
            if (*c == '\t' || *c == '\r')
                *c = ' ';
        if (!printable_is(line))
            return fail(reader, "printable characters");
        const char *first = line + strspn(line, " ");
        if (*first && *first != '#' && !read_line(reader, line))
            return false;
    }
    return true;
}

collage_status given_file_parse(const char *path, const char *text, size_t length,
                                struct given_file **out, struct error *error)
{
    struct error problem = { 0 };
    *out = NULL;
    if (length > GIVEN_BYTES || (length && memchr(text, '\0', length)))
        return error_set(error, COLLAGE_ERROR_FORMAT,
                         "'%.200s' is no file of costs: it is not text of at most %d bytes", path,
                         GIVEN_BYTES);
    struct given_file *file = memory_alloc(sizeof *file);
    if (!file)
        return error_memory(error);
    file->arena = arena_create();
    char *copy = file->arena ? arena_alloc(file->arena, length + 1) : NULL;
    file->path = file->arena ? arena_string(file->arena, path) : NULL;
    if (!copy || !file->path) {
        given_file_destroy(file);
        return error_memory(error);
    }
    if (length)
        memcpy(copy, text, length);
    struct reader reader = { .file = file, .error = &problem };
    if (!read_lines(&reader, copy)) {
        given_file_destroy(file);
        return error_set(error, problem.status, "%s", problem.text);
    }
    *out = file;
    return COLLAGE_OK;
}

collage_status given_file_load(const char *path, struct given_file **out, struct error *error)
{
    struct mapping mapping;
    *out = NULL;
    collage_status status = file_map(path, &mapping, error);
    if (status != COLLAGE_OK)
        return status;
    status = given_file_parse(path, mapping.data, mapping.bytes, out, error);
    file_unmap(&mapping);
    return status;
}

void given_file_destroy(struct given_file *file)
{
    if (!file)
        return;
    memory_free(file->lines);
    arena_destroy(file->arena);
    memory_free(file);
}

collage_status given_file_check_backends(const struct given_file *file,
                                         const struct registry *registry, struct error *error)
{
    for (size_t k = 0; k < file->count; k++) {
        const struct given_line *line = &file->lines[k];
        if (line->backend && registry_find(registry, line->backend) == UINT32_MAX)
            return error_set(error, COLLAGE_ERROR_ARGUMENT,
                             "%.200s:%u: there is no backend '%.64s'; `collage backends` lists "
                             "them",
                             file->path, line->number, line->backend);
    }
    return COLLAGE_OK;
}

/* ---- asking ---- */

/* Does the glob fit? It may need memory for what is long. NULL fits all. */
static collage_status fits(const char *glob, const char *text, bool *out, struct error *error)
{
    int result = glob && *out ? fnmatch(glob, text, 0) : 0;
    *out = *out && result == 0;
    return result == 0 || result == FNM_NOMATCH ? COLLAGE_OK : error_memory(error);
}

static void print_dims(const collage_tensor_info *tensors, size_t count, char *text, size_t size)
{
    text[0] = '\0';
    if (count > 0)
        dims_print(tensors[0].dims, tensors[0].rank, text, size);
}

static collage_status line_fits(const struct given_line *line, const collage_cost_question *about,
                                bool *out, struct error *error)
{
    char in[192], result[192];
    *out = (!line->backend || strcmp(line->backend, about->backend) == 0) &&
           (line->threads == 0 || line->threads == about->threads);
    if (!*out)
        return COLLAGE_OK;
    print_dims(about->inputs, about->input_count, in, sizeof in);
    print_dims(about->outputs, about->output_count, result, sizeof result);
    const char *dtype = about->output_count ? dtype_name(about->outputs[0].dtype) : "";
    collage_status status = fits(line->operators, about->operators, out, error);
    if (status == COLLAGE_OK)
        status = fits(line->in, in, out, error);
    if (status == COLLAGE_OK)
        status = fits(line->out, result, out, error);
    if (status == COLLAGE_OK)
        status = fits(line->dtype, dtype, out, error);
    return status == COLLAGE_OK ? fits(line->variant, about->variant, out, error) : status;
}

static collage_status ask_file(const struct given_file *file, const collage_cost_question *question,
                               collage_cost_answer *answer, double *cost_ns, struct error *error)
{
    bool found = false;
    collage_status status = COLLAGE_OK;
    for (size_t k = 0; k < file->count && status == COLLAGE_OK && !found; k++) {
        const struct given_line *line = &file->lines[k];
        status = line_fits(line, question, &found, error);
        if (status == COLLAGE_OK && found) {
            *answer = line->never ? COLLAGE_COST_NEVER : COLLAGE_COST_GIVEN;
            *cost_ns = line->cost_ns;
        }
    }
    return status;
}

static collage_status check_answer(const struct given_source *source,
                                   const collage_cost_question *question,
                                   collage_cost_answer answer, double cost_ns, struct error *error)
{
    if ((unsigned)answer > COLLAGE_COST_NEVER)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "the cost function '%.64s' gives the answer %d, which there is not",
                         source->name, (int)answer);
    if (answer == COLLAGE_COST_GIVEN && !(cost_ns > 0 && cost_ns <= GIVEN_MOST_NS))
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "the cost function '%.64s' gives %g ns for %.96s on '%.32s': a cost is "
                         "more than 0 and at most 1e15 ns",
                         source->name, cost_ns, question->operators, question->backend);
    return COLLAGE_OK;
}

static collage_status take_answer(const struct given_source *source, collage_cost_answer answer,
                                  double cost_ns, struct arena *arena, struct cost *cost,
                                  struct error *error)
{
    const bool never = answer == COLLAGE_COST_NEVER;
    *cost = (struct cost){ .state = never ? COST_FAILED : COST_MEASURED,
                           .cost_ns = never ? 0 : cost_ns,
                           .passes = UINT32_MAX, /* it needs no confirming */
                           .implementation = "",
                           .reason = "",
                           .giver = arena_string(arena, source->name) };
    if (never)
        cost->reason = arena_format(arena, "never to be used, says '%s'", source->name);
    return cost->giver && cost->reason ? COLLAGE_OK : error_memory(error);
}

collage_status given_costs_ask(const struct given_costs *given,
                               const collage_cost_question *question, struct arena *arena,
                               struct cost *cost, struct error *error)
{
    *cost = (struct cost){ .state = COST_UNKNOWN, .implementation = "", .reason = "" };
    for (size_t k = 0; k < given->count; k++) {
        const struct given_source *source = &given->items[k];
        collage_cost_answer answer = COLLAGE_COST_UNKNOWN;
        double cost_ns = 0;
        collage_status status = COLLAGE_OK;
        if (source->file) {
            status = ask_file(source->file, question, &answer, &cost_ns, error);
        } else {
            answer = source->function(source->user, question, &cost_ns);
            status = check_answer(source, question, answer, cost_ns, error);
        }
        if (status != COLLAGE_OK)
            return status;
        if (answer != COLLAGE_COST_UNKNOWN)
            return take_answer(source, answer, cost_ns, arena, cost, error);
    }
    return COLLAGE_OK;
}
