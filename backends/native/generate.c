/* SPDX-License-Identifier: Apache-2.0 */
#include "generate.h"

#include <native_prelude.h> /* made by CMake: cmake/embed.cmake */

/* ---- what all sources begin with ---- */

static const struct {
    const char *name, *value;
} operations[] = {
#define ROW(name, value) { #name, #value },
    PROGRAM_OPERATIONS(ROW)
#undef ROW
};

static const char helpers[] =
    "\n"
    "INLINE float from_bits(uint32_t bits)\n"
    "{\n"
    "    float value;\n"
    "    memcpy(&value, &bits, sizeof value);\n"
    "    return value;\n"
    "}\n"
    "\n"
    "typedef unsigned char octets __attribute__((vector_size(LANES), may_alias, aligned(1)));\n"
    "\n"
    "INLINE vec load_bools(const unsigned char *from)\n"
    "{\n"
    "    return __builtin_convertvector((*(const octets *)from != 0) & 1, vec);\n"
    "}\n"
    "\n"
    "INLINE vec load_bools_part(const unsigned char *from, int64_t count)\n"
    "{\n"
    "    unsigned char lanes[LANES] = { 0 };\n"
    "    for (int64_t k = 0; k < count; k++)\n"
    "        lanes[k] = from[k];\n"
    "    return load_bools(lanes);\n"
    "}\n"
    "\n";

static void add_prelude(struct source *source)
{
    source_add(source, "#define NATIVE_EMBEDDED\n");
    source_add_text(source, native_prelude);
    source_add_text(source, helpers);
    for (size_t k = 0; k < sizeof operations / sizeof *operations; k++)
        source_add(source,
                   "INLINE vec value_%s(vec x, vec y, vec z, float p, float q)\n"
                   "{\n"
                   "    return %s;\n"
                   "}\n",
                   operations[k].name, operations[k].value);
}

const char *const *generate_options(enum isa isa)
{
    /* As simd/ is built: backends/CMakeLists.txt. */
#define COMMON "-ffp-contract=fast", "-fno-trapping-math", "-fno-math-errno"
    static const char *const generic[] = { COMMON, NULL };
    static const char *const avx2[] = { COMMON, "-mavx2", "-mfma", NULL };
    static const char *const avx512[] = { COMMON,       "-mavx2",
                                          "-mfma",      "-mavx512f",
                                          "-mavx512bw", "-mavx512dq",
                                          "-mavx512vl", "-mprefer-vector-width=512",
                                          NULL };
#undef COMMON
    return isa == ISA_AVX512 ? avx512 : isa == ISA_AVX2 ? avx2 : generic;
}

/* ---- the loop ---- */

bool generate_is_worth(const struct program *program)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < program->step_count; s++)
        count += program->steps[s].op != PROGRAM_FROM_BOOL;
    return count > 1;
}

enum { FIRST_OUTPUT = PROGRAM_LEAVES + PROGRAM_REGISTERS };

/* Which variable holds what a slot holds now: leafN, or stepN. */
struct names {
    int16_t step[PROGRAM_SLOTS]; /* -1: the leaf */
};

static void add_name(struct source *source, const struct names *names, uint32_t slot)
{
    if (names->step[slot] >= 0)
        source_add(source, "step%d", names->step[slot]);
    else
        source_add(source, "leaf%u", (unsigned)slot);
}

static void add_step(const struct program *program, struct source *source, struct names *names,
                     uint32_t s, const char *indent)
{
    const struct program_step *step = &program->steps[s];
    char p[SOURCE_FLOAT], q[SOURCE_FLOAT];
    source_add(source, "%sconst vec step%u = ", indent, (unsigned)s);
    if (step->op == PROGRAM_FROM_BOOL) {
        add_name(source, names, step->from[0]);
        source_add(source, ";\n");
    } else {
        source_add(source, "value_%s(", operations[step->op].name);
        for (int k = 0; k < PROGRAM_OPERANDS; k++) {
            add_name(source, names, step->from[k]);
            source_add(source, ", ");
        }
        source_add(source, "%s, %s);\n", source_float(step->p, p), source_float(step->q, q));
    }
    names->step[step->to] = (int16_t)s;
}

/* Does the step stay the same along the inner axis? An output's is stored there all the same. */
static bool is_constant(const struct program_step *step)
{
    return !step->is_stream || (step->to >= FIRST_OUTPUT && !step->streams[0] &&
                                !step->streams[1] && !step->streams[2]);
}

/* Bases of the leaves in this row; what does not stream becomes a vector. */
static void add_bases(const struct program *program, struct source *source)
{
    for (uint32_t l = 0; l < program->leaf_count; l++) {
        const struct program_leaf *leaf = &program->leaves[l];
        const char *type = leaf->is_bytes ? "unsigned char" : "float";
        source_add(source, "        const %s *base%u = (const %s *)bases[%u]", type, (unsigned)l,
                   type, (unsigned)l);
        for (int32_t k = 0; k < program->outer; k++) {
            if (leaf->strides[k] != 0)
                source_add(source, " + at%d * %lld", (int)k, (long long)leaf->strides[k]);
        }
        source_add(source, ";\n");
        if (leaf->mode == PROGRAM_SAME && leaf->is_bytes)
            source_add(source, "        const vec leaf%u = vec_set(*base%u ? 1.0f : 0.0f);\n",
                       (unsigned)l, (unsigned)l);
        else if (leaf->mode == PROGRAM_SAME)
            source_add(source, "        const vec leaf%u = vec_set(*base%u);\n", (unsigned)l,
                       (unsigned)l);
        else if (leaf->mode == PROGRAM_BLOCK)
            source_add(source, "        const vec leaf%u = vec_load(base%u);\n", (unsigned)l,
                       (unsigned)l);
    }
}

/* One vector of the row, or its last part. All operands are read before a result is written: an
 * output may lie in an input. */
static void add_body(const struct program *program, struct source *source, struct names names,
                     bool part)
{
    static const char indent[] = "            ";
    for (uint32_t l = 0; l < program->leaf_count; l++) {
        const struct program_leaf *leaf = &program->leaves[l];
        if (leaf->mode != PROGRAM_STREAM)
            continue;
        source_add(source, "%sconst vec leaf%u = %s%s(base%u + k%s);\n", indent, (unsigned)l,
                   leaf->is_bytes ? "load_bools" : "vec_load", part ? "_part" : "", (unsigned)l,
                   part ? ", stop - k" : "");
    }
    for (uint32_t s = 0; s < program->step_count; s++) {
        if (is_constant(&program->steps[s]))
            names.step[program->steps[s].to] = (int16_t)s;
        else
            add_step(program, source, &names, s, indent);
    }
    for (uint32_t k = 0; k < program->output_count; k++) {
        source_add(source, "%svec_store%s(out%u + k, ", indent, part ? "_part" : "", (unsigned)k);
        add_name(source, &names, FIRST_OUTPUT + k);
        source_add(source, "%s);\n", part ? ", stop - k" : "");
    }
}

static void add_coordinates(const struct program *program, struct source *source)
{
    source_add(source, "        int64_t rest = row;\n");
    for (int32_t k = program->outer - 1; k > 0; k--)
        source_add(source,
                   "        const int64_t at%d = rest %% %lld;\n"
                   "        rest /= %lld;\n",
                   (int)k, (long long)program->dims[k], (long long)program->dims[k]);
    source_add(source, "        const int64_t at0 = rest;\n");
}

static void add_rows(const struct program *program, struct source *source)
{
    struct names names;
    for (uint32_t k = 0; k < PROGRAM_SLOTS; k++)
        names.step[k] = -1;
    add_coordinates(program, source);
    add_bases(program, source);
    for (uint32_t k = 0; k < program->output_count; k++) {
        source_add(source, "        float *const out%u = outputs[%u]", (unsigned)k, (unsigned)k);
        if (!program->output_is_row[k])
            source_add(source, " + row * %lld", (long long)program->inner);
        source_add(source, ";\n");
    }
    struct names hoisted = names;
    for (uint32_t s = 0; s < program->step_count; s++) {
        if (is_constant(&program->steps[s]))
            add_step(program, source, &hoisted, s, "        ");
        else
            hoisted.step[program->steps[s].to] = (int16_t)s;
    }
    source_add(source, "        for (; k + LANES <= stop; k += LANES) {\n");
    add_body(program, source, names, false);
    source_add(source, "        }\n"
                       "        if (k < stop) {\n");
    add_body(program, source, names, true);
    source_add(source, "        }\n");
}

void generate_program(const struct program *program, struct source *source)
{
    add_prelude(source);
    source_add(source,
               "\n"
               "__attribute__((visibility(\"default\")))\n"
               "void collage_kernel(const void *const *bases, float *const *outputs,\n"
               "                    int64_t begin, int64_t end)\n"
               "{\n"
               "    for (int64_t unit = begin; unit < end;) {\n"
               "        const int64_t row = unit / %lld, first = unit %% %lld;\n"
               "        int64_t tiles = %lld - first;\n"
               "        if (tiles > end - unit)\n"
               "            tiles = end - unit;\n"
               "        unit += tiles;\n"
               "        int64_t k = first * %d, stop = k + tiles * %d;\n"
               "        if (stop > %lld)\n"
               "            stop = %lld;\n",
               (long long)program->tiles, (long long)program->tiles, (long long)program->tiles,
               PROGRAM_TILE, PROGRAM_TILE, (long long)program->inner, (long long)program->inner);
    add_rows(program, source);
    source_add(source, "    }\n"
                       "}\n");
}
