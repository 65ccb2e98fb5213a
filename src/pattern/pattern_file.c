/* SPDX-License-Identifier: Apache-2.0 */
#include "pattern/pattern_file.h"

#include <fnmatch.h>
#include <string.h>

#include "base/file.h"

enum { VERSION = 1, MAX_BACKENDS = 16, MAX_DEVICES = 8 };

enum {
    TARGET_CPU = 1u << 0,
    TARGET_AVX2 = 1u << 1,
    TARGET_AVX512 = 1u << 2,
    TARGET_VNNI = 1u << 3,
    TARGET_GPU = 1u << 4, /* no target has these two yet */
    TARGET_CUDA = 1u << 5
};

static const struct {
    const char *name;
    uint32_t bit;
} targets[] = {
    { "cpu", TARGET_CPU },   { "avx2", TARGET_AVX2 }, { "avx512", TARGET_AVX512 },
    { "vnni", TARGET_VNNI }, { "gpu", TARGET_GPU },   { "cuda", TARGET_CUDA },
};
enum { TARGET_COUNT = sizeof targets / sizeof targets[0] };

struct parser {
    struct scanner scanner;
    struct pattern_file *file;
    const char *own; /* the one backend that may be named; NULL: any */
    /* What the entries that follow are for. */
    const char *const *backends;
    uint32_t backend_count, target;
    const char *const *devices;
    uint32_t device_count;
};

static bool parse_backend(struct parser *parser, const char **out)
{
    struct scanner *scanner = &parser->scanner;
    const struct token place = scanner->token;
    if (!scanner_word(scanner, "the name of a backend", out))
        return false;
    return !parser->own || strcmp(*out, parser->own) == 0 ||
           scanner_fail_at(scanner, &place, "expected '%s': the text of a backend is for itself",
                           parser->own);
}

/* "backend" name { "," name } */
static bool parse_backends(struct parser *parser)
{
    struct scanner *scanner = &parser->scanner;
    const char *names[MAX_BACKENDS] = { NULL };
    parser->backend_count = 0;
    parser->target = 0;
    parser->device_count = 0;
    do {
        if (parser->backend_count == MAX_BACKENDS)
            return scanner_fail(scanner, "at most 16 backends");
        if (!parse_backend(parser, &names[parser->backend_count++]))
            return false;
    } while (scanner_accept(scanner, ","));
    parser->backends = arena_copy(scanner->arena, names, parser->backend_count * sizeof names[0]);
    return parser->backends || scanner_out_of_memory(scanner);
}

/* A glob: the ones so far, which entries refer to, stay as they are. */
static bool parse_device(struct parser *parser)
{
    struct scanner *scanner = &parser->scanner;
    const char *globs[MAX_DEVICES];
    if (parser->device_count == MAX_DEVICES)
        return scanner_fail(scanner, "at most 8 names of machines");
    for (uint32_t k = 0; k < parser->device_count; k++)
        globs[k] = parser->devices[k];
    if (!scanner_string(scanner, &globs[parser->device_count++]))
        return false;
    parser->devices = arena_copy(scanner->arena, globs, parser->device_count * sizeof globs[0]);
    return parser->devices || scanner_out_of_memory(scanner);
}

/* "target" what { "," what } */
static bool parse_target(struct parser *parser)
{
    struct scanner *scanner = &parser->scanner;
    if (parser->backend_count == 0)
        return scanner_fail(scanner, "'backend' before a target");
    do {
        size_t k = 0;
        if (scanner->token.kind == TOKEN_STRING) {
            if (!parse_device(parser))
                return false;
            continue;
        }
        while (k < TARGET_COUNT && !scanner_is(scanner, targets[k].name))
            k++;
        if (k == TARGET_COUNT)
            return scanner_fail(
                scanner, "cpu, avx2, avx512, vnni, gpu, cuda or the name of a machine in quotes");
        parser->target |= targets[k].bit;
        scanner_next(scanner);
    } while (scanner_accept(scanner, ","));
    return true;
}

/* A quoted chain pattern, as plugins give them (pattern.h). */
static bool parse_chain(struct parser *parser, struct pattern_entry *entry)
{
    struct scanner *scanner = &parser->scanner;
    const struct token place = scanner->token;
    const char *text;
    if (!scanner_string(scanner, &text))
        return false;
    if (pattern_parse(entry->name, text, &entry->chain, scanner->error) == COLLAGE_OK)
        return true;
    error_prefix(scanner->error, "%.120s:%u:%u", scanner->file, place.line, place.column);
    return false;
}

static bool parse_entry_name(struct parser *parser, const char **name)
{
    struct scanner *scanner = &parser->scanner;
    const struct token place = scanner->token;
    if (!scanner_word(scanner, "a name", name))
        return false;
    for (uint32_t k = 0; k < parser->file->count; k++)
        if (strcmp(parser->file->entries[k].name, *name) == 0)
            return scanner_fail_at(scanner, &place, "expected a new name; '%s' is there already",
                                   *name);
    return true;
}

static bool parse_entry(struct parser *parser, enum pattern_entry_kind kind)
{
    struct scanner *scanner = &parser->scanner;
    struct pattern_file *file = parser->file;
    if (parser->backend_count == 0)
        return scanner_fail(scanner, "'backend' before the first pattern");
    if (file->count == PATTERN_FILE_ENTRIES)
        return scanner_fail(scanner, "at most 256 patterns and rules in a file");
    struct pattern_entry *entry = &file->entries[file->count];
    *entry = (struct pattern_entry){ .kind = kind,
                                     .backends = parser->backends,
                                     .backend_count = parser->backend_count,
                                     .target = parser->target,
                                     .devices = parser->devices,
                                     .device_count = parser->device_count };
    scanner_next(scanner);
    if (!parse_entry_name(parser, &entry->name))
        return false;
    file->count++;
    switch (kind) {
    case ENTRY_PATTERN:
        return dag_parse(scanner, &entry->forms, &entry->form_count);
    case ENTRY_CHAIN:
        return parse_chain(parser, entry);
    case ENTRY_RULE:
        return rule_parse(scanner, &entry->rule);
    }
    return false;
}

static bool parse_header(struct scanner *scanner)
{
    int64_t version;
    if (!scanner_expect(scanner, "collage_patterns"))
        return false;
    const struct token place = scanner->token;
    if (!scanner_integer(scanner, "the version of the format", &version))
        return false;
    return version == VERSION ||
           scanner_fail_at(scanner, &place, "expected version %d of the format", VERSION);
}

/* A backend's own text is for it from the first line on. */
static bool begin_own(struct parser *parser)
{
    struct scanner *scanner = &parser->scanner;
    if (!parser->own)
        return true;
    const char *name = arena_string(scanner->arena, parser->own);
    parser->backends = name ? arena_copy(scanner->arena, &name, sizeof name) : NULL;
    parser->backend_count = 1;
    return parser->backends || scanner_out_of_memory(scanner);
}

static bool parse_all(struct parser *parser)
{
    struct scanner *scanner = &parser->scanner;
    if (!parse_header(scanner) || !begin_own(parser))
        return false;
    while (scanner->token.kind != TOKEN_END) {
        bool parsed =
            scanner_accept(scanner, "backend")  ? parse_backends(parser)
            : scanner_accept(scanner, "target") ? parse_target(parser)
            : scanner_is(scanner, "pattern")    ? parse_entry(parser, ENTRY_PATTERN)
            : scanner_is(scanner, "chain")      ? parse_entry(parser, ENTRY_CHAIN)
            : scanner_is(scanner, "rule")
                ? parse_entry(parser, ENTRY_RULE)
                : scanner_fail(scanner, "'backend', 'target', 'pattern', 'chain' or 'rule'");
        if (!parsed)
            return false;
    }
    return true;
}

static collage_status parse_text(const char *path, const char *own, const char *text, size_t length,
                                 struct pattern_file **out, struct error *error)
{
    struct error problem = { .status = COLLAGE_OK };
    *out = NULL;
    if (length > PATTERN_FILE_BYTES)
        return error_set(error, COLLAGE_ERROR_FORMAT,
                         "'%.200s' is no file of patterns: it has more than %d bytes", path,
                         PATTERN_FILE_BYTES);
    struct pattern_file *file = memory_alloc(sizeof *file);
    if (!file)
        return error_memory(error);
    file->arena = arena_create();
    if (file->arena) {
        file->path = arena_string(file->arena, path);
        file->entries = arena_array(file->arena, PATTERN_FILE_ENTRIES, sizeof *file->entries);
    }
    if (!file->path || !file->entries) {
        pattern_file_destroy(file);
        return error_memory(error);
    }
    struct parser parser = { .file = file, .own = own };
    scanner_begin(&parser.scanner, file->path, text, length, file->arena, &problem);
    if (!parse_all(&parser)) {
        pattern_file_destroy(file);
        return problem.status == COLLAGE_ERROR_MEMORY
                   ? error_memory(error)
                   : error_set(error, problem.status, "%s", problem.text);
    }
    *out = file;
    return COLLAGE_OK;
}

collage_status pattern_file_parse(const char *path, const char *text, size_t length,
                                  struct pattern_file **out, struct error *error)
{
    return parse_text(path, NULL, text, length, out, error);
}

collage_status pattern_file_parse_own(const char *path, const char *backend, const char *text,
                                      size_t length, struct pattern_file **out, struct error *error)
{
    return parse_text(path, backend, text, length, out, error);
}

collage_status pattern_file_load(const char *path, struct pattern_file **out, struct error *error)
{
    struct mapping mapping;
    *out = NULL;
    collage_status status = file_map(path, &mapping, error);
    if (status != COLLAGE_OK)
        return status;
    status = pattern_file_parse(path, mapping.data, mapping.bytes, out, error);
    file_unmap(&mapping);
    return status;
}

void pattern_file_destroy(struct pattern_file *file)
{
    if (!file)
        return;
    for (uint32_t k = 0; k < file->count; k++)
        pattern_destroy(file->entries[k].chain);
    arena_destroy(file->arena);
    memory_free(file);
}

static bool fits_devices(const struct pattern_entry *entry, const struct pattern_target *target)
{
    for (uint32_t k = 0; k < entry->device_count; k++)
        if (!(target->device && fnmatch(entry->devices[k], target->device, 0) == 0) &&
            !(target->fingerprint && fnmatch(entry->devices[k], target->fingerprint, 0) == 0))
            return false;
    return true;
}

bool pattern_entry_fits(const struct pattern_entry *entry, const char *backend,
                        const struct pattern_target *on)
{
    const collage_target *target = on->target;
    const uint32_t has = (target->device == 0 ? TARGET_CPU : 0u) |
                         (target->avx2 ? TARGET_AVX2 : 0u) | (target->avx512 ? TARGET_AVX512 : 0u) |
                         (target->vnni ? TARGET_VNNI : 0u);
    if ((entry->target & has) != entry->target || !fits_devices(entry, on))
        return false;
    for (uint32_t k = 0; k < entry->backend_count; k++)
        if (strcmp(entry->backends[k], backend) == 0)
            return true;
    return false;
}

void pattern_entry_print_target(const struct pattern_entry *entry, struct text *text)
{
    const char *gap = "";
    if (!entry->target && entry->device_count == 0)
        text_string(text, "any");
    for (size_t k = 0; k < TARGET_COUNT; k++)
        if (entry->target & targets[k].bit) {
            text_format(text, "%s%s", gap, targets[k].name);
            gap = " ";
        }
    for (uint32_t k = 0; k < entry->device_count; k++) {
        text_format(text, "%s\"", gap);
        text_printable(text, entry->devices[k], 0);
        text_string(text, "\"");
        gap = " ";
    }
}
