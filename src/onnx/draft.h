/* SPDX-License-Identifier: Apache-2.0 */
/* draft.h: editing a node on its way into the graph: attributes and inputs come, go and turn into
 * one another. Arrays are the graph arena's. */
#ifndef COLLAGE_ONNX_DRAFT_H
#define COLLAGE_ONNX_DRAFT_H

#include "onnx/importer.h"

/* ---- attributes ---- */

/* Removes the attribute and returns it; NULL if it is not there. The copy is the arena's. */
collage_status draft_take_attribute(struct importer *importer, struct draft *draft,
                                    const char *name, collage_attribute_kind kind,
                                    collage_attribute **out, struct error *error);
/* The same, and forgets it. */
collage_status draft_drop_attribute(struct importer *importer, struct draft *draft,
                                    const char *name, collage_attribute_kind kind,
                                    struct error *error);
/* Takes an integer or a float; the fallback if it is not there. */
collage_status draft_take_int(struct importer *importer, struct draft *draft, const char *name,
                              int64_t fallback, int64_t *out, struct error *error);
collage_status draft_take_float(struct importer *importer, struct draft *draft, const char *name,
                                float fallback, float *out, struct error *error);
/* Appends. An attribute of that name that is there already is of a newer opset: a fault. */
collage_status draft_add_attribute(struct importer *importer, struct draft *draft,
                                   collage_attribute attribute, struct error *error);
collage_status draft_add_string(struct importer *importer, struct draft *draft, const char *name,
                                const char *text, struct error *error);
collage_status draft_add_int(struct importer *importer, struct draft *draft, const char *name,
                             int64_t value, struct error *error);

/* ---- inputs ---- */

/* Makes `id` input number `index`; inputs in between are left out. */
collage_status draft_set_input(struct importer *importer, struct draft *draft, uint32_t index,
                               value_id id, struct error *error);
/* The id of input number `index`, GRAPH_NONE if it is left out or beyond the last. */
value_id draft_input(const struct draft *draft, uint32_t index);
/* COLLAGE_ERROR_FORMAT if that input is left out. */
collage_status draft_need_input(const struct draft *draft, uint32_t index, struct error *error);

/* The same for each of the first `count` inputs. */
collage_status draft_need_inputs(const struct draft *draft, uint32_t count, struct error *error);

/* A new constant, named after the draft and what it is. The data are copied. */
collage_status draft_constant(struct importer *importer, const struct draft *draft,
                              const char *what, struct tensor tensor, value_id *id,
                              struct error *error);
collage_status draft_ints(struct importer *importer, const struct draft *draft, const char *what,
                          const int64_t *ints, uint32_t count, value_id *id, struct error *error);
/* A scalar of the type of the value `like`. */
collage_status draft_number(struct importer *importer, const struct draft *draft, const char *what,
                            double number, value_id like, value_id *id, struct error *error);

/* An attribute of ints becomes input number `index`; a float one a scalar of the type of input 0.
 * Nothing happens if there is none. */
collage_status draft_ints_to_input(struct importer *importer, struct draft *draft, const char *name,
                                   uint32_t index, struct error *error);
collage_status draft_float_to_input(struct importer *importer, struct draft *draft,
                                    const char *name, uint32_t index, struct error *error);

/* ---- more nodes ---- */

/* Emits another node before the draft, with one output of a fresh name. */
struct draft_step {
    const char *op;
    const value_id *inputs;
    uint32_t input_count;
    const collage_attribute *attributes; /* copied */
    uint32_t attribute_count;
};
collage_status draft_emit_step(struct importer *importer, const struct draft *draft,
                               const struct draft_step *step, value_id *out, struct error *error);
/* One without attributes. */
collage_status draft_emit(struct importer *importer, const struct draft *draft, const char *op,
                          const value_id *inputs, uint32_t count, value_id *out,
                          struct error *error);
/* Turns the draft into that operator, without attributes; left-out inputs at the end go. */
collage_status draft_become(struct importer *importer, struct draft *draft, const char *op,
                            const value_id *inputs, uint32_t count, struct error *error);

#endif
