/* SPDX-License-Identifier: Apache-2.0 */
#include "place/fuse.h"

#include <string.h>

/* The chosen candidates are known by their place; groups, by that of their first one. */
struct fuser {
    const struct candidate_set *set;
    const struct pins *pins;
    const candidate_id *chosen;
    uint32_t count;
    uint32_t *homes, *groups;
    uint32_t *owner;        /* node by node: the place that covers it */
    uint32_t *next, *last;  /* the members of a group as a list; NOBODY ends it. last: of a group */
    uint32_t *seen, *queue; /* of a search: the round in which a group was met; those to look at */
    uint32_t round;
};

#define NOBODY UINT32_MAX

static const struct region *region_of(const struct fuser *fuser, uint32_t place)
{
    return &fuser->set->items[fuser->chosen[place]].region;
}

static bool is_view(const struct fuser *fuser, uint32_t place)
{
    return fuser->set->items[fuser->chosen[place]].view;
}

/* The place that makes a value; NOBODY if none does. */
static uint32_t maker_of(const struct fuser *fuser, value_id value)
{
    const struct value *v = &fuser->set->graph->values[value];
    return v->kind == VALUE_COMPUTED ? fuser->owner[v->producer] : NOBODY;
}

/* ---- views ---- */

/* Does the backend take the node? Only what it was asked about is known. */
static bool takes(const struct candidate_set *set, uint32_t backend, node_id node)
{
    size_t cell = (size_t)node * set->registry->count + backend;
    return set->asked && set->refusals && set->asked[cell] && !set->refusals[cell];
}

/* The home of the maker of what a view shows, if that backend takes the view. */
static uint32_t home_before(const struct fuser *fuser, uint32_t place)
{
    const struct region *region = region_of(fuser, place);
    uint32_t maker = region->input_count ? maker_of(fuser, region->inputs[0]) : NOBODY;
    uint32_t home = maker == NOBODY ? FUSE_ALONE : fuser->homes[maker];
    bool fits = home != FUSE_ALONE && takes(fuser->set, home, region->nodes[0]) &&
                (!fuser->pins || pins_leave_open(fuser->pins, region->nodes[0], home));
    return fits ? home : FUSE_ALONE;
}

static bool has_user_at(const struct fuser *fuser, uint32_t place, uint32_t home)
{
    const struct graph_uses *uses = &fuser->set->uses;
    const struct region *region = region_of(fuser, place);
    for (uint32_t k = 0; k < region->output_count; k++)
        for (uint32_t u = uses->first[region->outputs[k]]; u < uses->first[region->outputs[k] + 1];
             u++)
            if (fuser->homes[fuser->owner[uses->users[u]]] == home)
                return true;
    return false;
}

/* Views take the home before them; from the end, those lose it again behind which nobody has it. */
static void settle_views(struct fuser *fuser)
{
    for (uint32_t place = 0; place < fuser->count; place++)
        if (is_view(fuser, place) && fuser->homes[place] == FUSE_ALONE)
            fuser->homes[place] = home_before(fuser, place);
    for (uint32_t place = fuser->count; place-- > 0;)
        if (is_view(fuser, place) && fuser->homes[place] != FUSE_ALONE &&
            !has_user_at(fuser, place, fuser->homes[place]))
            fuser->homes[place] = FUSE_ALONE;
}

/* ---- groups ---- */

static void meet(struct fuser *fuser, uint32_t group, uint32_t *waiting)
{
    if (fuser->seen[group] == fuser->round)
        return;
    fuser->seen[group] = fuser->round;
    fuser->queue[(*waiting)++] = group;
}

/* The groups that use what this one makes, but for `but`. */
static void meet_users(struct fuser *fuser, uint32_t group, uint32_t but, uint32_t *waiting)
{
    const struct graph_uses *uses = &fuser->set->uses;
    for (uint32_t place = group; place != NOBODY; place = fuser->next[place]) {
        const struct region *region = region_of(fuser, place);
        for (uint32_t k = 0; k < region->output_count; k++) {
            value_id v = region->outputs[k];
            for (uint32_t u = uses->first[v]; u < uses->first[v + 1]; u++) {
                uint32_t user = fuser->groups[fuser->owner[uses->users[u]]];
                if (user != group && user != but)
                    meet(fuser, user, waiting);
            }
        }
    }
}

/* Does a path lead from the one group to the other over a third? */
static bool is_bypassed(struct fuser *fuser, uint32_t from, uint32_t to)
{
    uint32_t waiting = 0;
    fuser->round++;
    meet_users(fuser, from, to, &waiting);
    while (waiting > 0) {
        uint32_t group = fuser->queue[--waiting];
        if (group == to)
            return true;
        meet_users(fuser, group, NOBODY, &waiting);
    }
    return false;
}

/* The group of the smaller number takes the other one in. */
static void join(struct fuser *fuser, uint32_t a, uint32_t b)
{
    uint32_t first = a < b ? a : b, second = a < b ? b : a;
    for (uint32_t place = second; place != NOBODY; place = fuser->next[place])
        fuser->groups[place] = first;
    fuser->next[fuser->last[first]] = second;
    fuser->last[first] = fuser->last[second];
}

static void join_makers(struct fuser *fuser, uint32_t place)
{
    const struct region *region = region_of(fuser, place);
    for (uint32_t k = 0; k < region->input_count; k++) {
        uint32_t maker = maker_of(fuser, region->inputs[k]);
        if (maker == NOBODY || fuser->homes[maker] != fuser->homes[place])
            continue;
        uint32_t a = fuser->groups[maker], b = fuser->groups[place];
        if (a != b && !is_bypassed(fuser, a, b))
            join(fuser, a, b);
    }
}

static bool make(struct fuser *fuser, struct arena *arena)
{
    fuser->owner = arena_array(arena, fuser->set->graph->node_count, sizeof(uint32_t));
    fuser->next = arena_array(arena, fuser->count, sizeof(uint32_t));
    fuser->last = arena_array(arena, fuser->count, sizeof(uint32_t));
    fuser->seen = arena_array(arena, fuser->count, sizeof(uint32_t));
    fuser->queue = arena_array(arena, fuser->count, sizeof(uint32_t));
    if (!fuser->owner || !fuser->next || !fuser->last || !fuser->seen || !fuser->queue)
        return false;
    for (uint32_t place = 0; place < fuser->count; place++) {
        const struct region *region = region_of(fuser, place);
        for (uint32_t k = 0; k < region->node_count; k++)
            fuser->owner[region->nodes[k]] = place;
        fuser->groups[place] = fuser->last[place] = place;
        fuser->next[place] = NOBODY;
    }
    return true;
}

collage_status fuse_neighbours(const struct candidate_set *set, const struct pins *pins,
                               const candidate_id *chosen, size_t count, uint32_t *homes,
                               uint32_t *groups, struct error *error)
{
    struct arena *arena = arena_create();
    struct fuser fuser = { .set = set,
                           .pins = pins,
                           .chosen = chosen,
                           .count = (uint32_t)count,
                           .homes = homes,
                           .groups = groups };
    bool ok = arena && make(&fuser, arena);
    if (ok) {
        settle_views(&fuser);
        for (uint32_t place = 0; place < fuser.count; place++)
            if (homes[place] != FUSE_ALONE)
                join_makers(&fuser, place);
    }
    arena_destroy(arena);
    return ok ? COLLAGE_OK : error_memory(error);
}
