/* SPDX-License-Identifier: Apache-2.0 */
/* key_table.h: costs by candidate key, for one run: what was measured once is not asked for again.
 */
#ifndef COLLAGE_OPTIMIZE_KEY_TABLE_H
#define COLLAGE_OPTIMIZE_KEY_TABLE_H

#include "pattern/candidate.h"

struct key_table;
struct key_table *key_table_create(void); /* NULL if out of memory */
void key_table_destroy(struct key_table *table);
const struct cost *key_table_find(const struct key_table *table,
                                  struct hash key); /* NULL if none */
bool key_table_put(struct key_table *table, struct hash key,
                   const struct cost *cost); /* false: out of memory */
size_t key_table_count(const struct key_table *table);

#endif
