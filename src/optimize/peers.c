/* SPDX-License-Identifier: Apache-2.0 */
/* Peers in the final race: programs that are no backends of ours. */
#include "optimize/optimizer.h"

collage_status optimizer_add_peers(struct optimizer *optimizer, struct error *error)
{
    const struct optimizer_settings *settings = &optimizer->settings;
    for (size_t k = 0; k < settings->peer_count; k++) {
        size_t at = optimizer->contestant_count;
        if (at == optimizer->contestant_capacity)
            return error_set(error, COLLAGE_ERROR_INTERNAL,
                             "more contestants than there is room for");
        struct contestant *contestant = &optimizer->contestants[at];
        *contestant = (struct contestant){ .peer = &settings->peers[k], .backend = UINT32_MAX };
        optimizer->names[at] =
            arena_format(optimizer->arena, "%.13s (peer)", settings->peers[k].name);
        optimizer->notes[at] = contestant->about; /* filled when the peer says what it is */
        if (!optimizer->names[at])
            return error_memory(error);
        optimizer->contestant_count++;
    }
    return COLLAGE_OK;
}
