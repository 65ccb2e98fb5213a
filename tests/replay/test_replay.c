/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds the fuzz targets: every file of the corpora, truncated at many lengths, and with bits
 * flipped, bytes changed, pieces cut out and doubled, always in the same way. */
#include <dirent.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/file.h"
#include "fuzz.h"
#include "tensor/tensor.h"

enum { TRUNCATIONS = 300, MUTATIONS = 5000 };

typedef int (*target_fn)(const uint8_t *data, size_t size);

/* A copy of exactly that size, so that reading behind it is seen. */
static uint8_t *copy(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size ? size : 1);
    assert_non_null(bytes);
    if (size)
        memcpy(bytes, data, size);
    return bytes;
}

static void feed(target_fn target, const uint8_t *data, size_t size)
{
    uint8_t *exact = copy(data, size);
    assert_int_equal(target(exact, size), 0);
    free(exact);
}

static void truncate_all(target_fn target, const uint8_t *data, size_t size)
{
    size_t step = size / TRUNCATIONS + 1;
    for (size_t length = 0; length < size; length += step)
        feed(target, data, length);
}

/* One change; the room behind `size` is as large again. */
static size_t mutate_once(uint8_t *bytes, size_t size, size_t room, uint64_t *state)
{
    static const uint8_t special[] = { 0, 1, 0x7f, 0x80, 0xff, '"', '%', '{' };
    uint64_t r = splitmix64(state);
    size_t at = (size_t)(r >> 8) % size;
    size_t piece = 1 + (size_t)(splitmix64(state) >> 8) % 32;
    if (piece > size - at)
        piece = size - at;
    switch (r % 5) {
    case 0:
        bytes[at] ^= (uint8_t)(1u << (r >> 3) % 8);
        return size;
    case 1:
        bytes[at] = special[(r >> 40) % sizeof special];
        return size;
    case 2: /* cut out */
        memmove(bytes + at, bytes + at + piece, size - at - piece);
        return size > piece ? size - piece : size;
    case 3: /* doubled */
        if (size + piece > room)
            return size;
        memmove(bytes + at + piece, bytes + at, size - at);
        return size + piece;
    default: /* copied from elsewhere */
        memmove(bytes + at, bytes + (size_t)(r >> 24) % (size - piece + 1), piece);
        return size;
    }
}

static void mutate_all(target_fn target, const uint8_t *data, size_t size)
{
    uint64_t state = 17;
    size_t room = 2 * size + 64;
    uint8_t *bytes = malloc(room);
    assert_non_null(bytes);
    for (int k = 0; k < MUTATIONS && size > 0; k++) {
        memcpy(bytes, data, size);
        size_t now = size;
        for (uint64_t changes = 1 + splitmix64(&state) % 4; changes > 0; changes--)
            now = mutate_once(bytes, now, room, &state);
        feed(target, bytes, now);
    }
    free(bytes);
}

static size_t replay_file(target_fn target, const char *path)
{
    struct mapping file;
    struct error error = { 0 };
    if (file_map(path, &file, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    feed(target, file.data, file.bytes);
    truncate_all(target, file.data, file.bytes);
    mutate_all(target, file.data, file.bytes);
    file_unmap(&file);
    return 1;
}

static void replay_folder(target_fn target, const char *folder)
{
    char path[1024];
    size_t count = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            count += replay_file(target, path);
    }
    closedir(directory);
    assert_true(count > 0);
}

static void import_corpus(void **state)
{
    (void)state;
    replay_folder(fuzz_import, COLLAGE_CORPUS "/import");
}

static void text_corpus(void **state)
{
    (void)state;
    replay_folder(fuzz_text, COLLAGE_CORPUS "/text");
}

static void plan_corpus(void **state)
{
    (void)state;
    replay_folder(fuzz_plan, COLLAGE_CORPUS "/plan");
}

static void costs_corpus(void **state)
{
    (void)state;
    replay_folder(fuzz_costs, COLLAGE_CORPUS "/costs");
}

static void patterns_corpus(void **state)
{
    (void)state;
    replay_folder(fuzz_patterns, COLLAGE_CORPUS "/patterns");
}

/* Its weights are external, which memory has not, so it gets as far as the first of them. */
static void tiny_cnn(void **state)
{
    (void)state;
    replay_file(fuzz_import, COLLAGE_NETWORKS "/tiny_cnn.onnx");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(import_corpus),   cmocka_unit_test(text_corpus),
        cmocka_unit_test(plan_corpus),     cmocka_unit_test(costs_corpus),
        cmocka_unit_test(patterns_corpus), cmocka_unit_test(tiny_cnn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
