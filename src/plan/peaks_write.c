/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/peaks_write.h"

/* In the order in which data come nearer. */
void peaks_put(const struct peaks *peaks, struct text *out)
{
    text_format(out,
                "%.1f GFLOP/s;\n%.1f GB/s from memory, %.1f from the last cache (%.1f MB), %.1f "
                "from the second (%.1f MB).\n",
                peaks->flop_per_ns, peaks->bytes_per_ns[PEAK_MEMORY],
                peaks->bytes_per_ns[PEAK_LAST_LEVEL], (double)peaks->last_level_bytes / 1e6,
                peaks->bytes_per_ns[PEAK_LEVEL_2], (double)peaks->level_2_bytes / 1e6);
}

json_t *peaks_to_json(const struct peaks *peaks)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:I, s:I}", "gflops", peaks->flop_per_ns,
                     "memory_gb_per_s", peaks->bytes_per_ns[PEAK_MEMORY], "last_cache_gb_per_s",
                     peaks->bytes_per_ns[PEAK_LAST_LEVEL], "second_cache_gb_per_s",
                     peaks->bytes_per_ns[PEAK_LEVEL_2], "last_cache_bytes",
                     (json_int_t)peaks->last_level_bytes, "second_cache_bytes",
                     (json_int_t)peaks->level_2_bytes);
}
