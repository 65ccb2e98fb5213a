/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h: allocation. All of the library allocates here, so that the fault tests can make any
 * allocation fail. An arena hands out memory that is freed as a whole; arrays grow by doubling.
 */
#ifndef COLLAGE_BASE_MEMORY_H
#define COLLAGE_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL on failure (or when the fault tests ask for it); the contents are zero. bytes 0 gives a
 * valid pointer. */
void *memory_alloc(size_t bytes);
/* Keeps old_bytes, zeroes the rest. On failure returns NULL and leaves the old block. */
void *memory_resize(void *block, size_t old_bytes, size_t new_bytes);
void memory_free(void *block);
char *memory_copy_string(const char *text);

/* For SIMD data: aligned to 64 bytes, contents undefined. */
void *memory_alloc_aligned(size_t bytes);
void memory_free_aligned(void *block);

/* Fault injection (tests only): the n-th allocation from now fails, and all after it; 0 switches it
 * off. */
void memory_fail_after(size_t n);
/* The same, but only that one fails. */
void memory_fail_once(size_t n);

/* Makes room for one more element in *items (each of element_size bytes). */
bool memory_grow(void **items, size_t *capacity, size_t count, size_t element_size);

struct arena;
struct arena *arena_create(void); /* NULL if out of memory */
void arena_destroy(struct arena *arena);
/* Zeroed, aligned to 16 bytes; NULL if out of memory. */
void *arena_alloc(struct arena *arena, size_t bytes);
/* As arena_alloc, for count elements; NULL also on overflow. */
void *arena_array(struct arena *arena, size_t count, size_t element_size);
void *arena_copy(struct arena *arena, const void *data, size_t bytes);
char *arena_string(struct arena *arena, const char *text);
char *arena_format(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
size_t arena_bytes(const struct arena *arena);

#endif
