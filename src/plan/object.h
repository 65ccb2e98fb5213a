/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object.h: code objects beside a plan. The plan itself is data and may come from anywhere; code
 * may not. A plan names its objects with their SHA-256; one is handed out only if its bytes have
 * that hash, and if nobody but the user (or root) could have put it there, or the caller trusts the
 * folder. An object is read once: what was checked is what is handed out, whatever happens to the
 * file meanwhile.
 */
#ifndef COLLAGE_PLAN_OBJECT_H
#define COLLAGE_PLAN_OBJECT_H

#include "base/error.h"
#include "base/sha256.h"

enum {
    PLAN_OBJECT_BYTES = 256 << 20, /* no object is larger */
    PLAN_MOST_OBJECTS = 1024       /* no plan has more */
};

/* Of the cache: where the objects of a plan lie that was just made. */
#define PLAN_CODE_FOLDER "code"

/* What a plan file says of one. */
struct plan_object {
    const char *name; /* a file of the plan's folder */
    char sha256[SHA256_TEXT];
};

struct plan_code {
    void *bytes; /* memory_alloc'ed */
    size_t count;
};

/* Is it the plain name of a file? Printable UTF-8, no slash, no dot at its beginning. */
bool plan_object_name_is_plain(const char *name);
/* 64 lower-case hex digits? */
bool plan_object_hash_is_one(const char *text);

/* trust: who owns the folder and the file, and who else may write to them, does not matter; the
 * hash does. Links are not followed in any case. Errors name the object. */
collage_status plan_object_open(const char *folder, const struct plan_object *object, bool trust,
                                struct plan_code *out, struct error *error);

struct plan;

/* All objects of a plan that was read from a file. */
struct plan_codes {
    struct plan_code *items;
    uint32_t count;
};
collage_status plan_codes_load(const struct plan *plan, bool trust, struct plan_codes *out,
                               struct error *error);
void plan_codes_free(struct plan_codes *codes);

/* Writes all objects of a plan into the folder of the file that it is saved in, unless they are
 * there already. */
collage_status plan_codes_save(const struct plan *plan, const char *plan_file, bool trust,
                               struct error *error);

#endif
