/* SPDX-License-Identifier: Apache-2.0 */
/* store_internal.h: the open database, for the files of cost/ only. */
#ifndef COLLAGE_COST_STORE_INTERNAL_H
#define COLLAGE_COST_STORE_INTERNAL_H

#include <sqlite3.h>

#include "cost/store.h"

enum statement { GET_COST, PUT_COST, GET_FACT, PUT_FACT, STATEMENT_COUNT };

struct cost_store {
    sqlite3 *database;
    sqlite3_stmt *statements[STATEMENT_COUNT];
    char *path;
    char warning[256];
};

/* The user_version of a store that this Collage reads. */
long cost_store_schema_version(void);

/* The first column of the first row as text; "" if there is none. */
int store_query_text(struct cost_store *store, const char *sql, char *text, size_t size);

/* An error that names the file and says what SQLite says. */
collage_status store_error(const struct cost_store *store, int code, struct error *error);

#endif
