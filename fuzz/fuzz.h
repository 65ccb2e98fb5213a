/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.h: the fuzz targets. Each takes any bytes and returns 0; a fault is a crash, a report of a
 * sanitizer or an abort. Built with -DCOLLAGE_FUZZ_TARGET=fuzz_import (fuzz_text, fuzz_plan,
 * fuzz_costs, fuzz_patterns), fuzz/main.c makes a libFuzzer program of one; the normal tests
 * replay corpus and mutations (tests/replay).
 */
#ifndef COLLAGE_FUZZ_FUZZ_H
#define COLLAGE_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int fuzz_import(const uint8_t *data, size_t size);
int fuzz_text(const uint8_t *data, size_t size);
int fuzz_plan(const uint8_t *data, size_t size);
int fuzz_costs(const uint8_t *data, size_t size);
int fuzz_patterns(const uint8_t *data, size_t size);

#endif
