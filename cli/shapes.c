/* SPDX-License-Identifier: Apache-2.0 */
#include "shapes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "1x3x224x224" into dims; false if it is not that. */
static bool parse_dims(const char *text, collage_shape *shape)
{
    for (shape->rank = 0; shape->rank < COLLAGE_MAX_RANK;) {
        char *end;
        errno = 0;
        long long dim = strtoll(text, &end, 10);
        if (errno || end == text || dim < 1 || *text < '0' || *text > '9')
            return false;
        shape->dims[shape->rank++] = dim;
        if (!*end)
            return true;
        if (*end != 'x')
            return false;
        text = end + 1;
    }
    return false;
}

/* The name goes to *name, which moves past it. */
static bool parse_shape(const char *text, char **name, collage_shape *shape)
{
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text || !parse_dims(equals + 1, shape))
        return false;
    size_t length = (size_t)(equals - text);
    memcpy(*name, text, length);
    (*name)[length] = '\0';
    shape->name = *name;
    *name += length + 1;
    return true;
}

int shapes_parse(const char *command, const struct option_list *texts, struct shape_list *shapes)
{
    size_t bytes = 1;
    for (size_t k = 0; k < texts->count; k++)
        bytes += strlen(texts->items[k]) + 1;
    shapes->count = 0;
    shapes->names = malloc(bytes);
    if (!shapes->names) {
        complain(NULL, "out of memory");
        return EXIT_FAILED;
    }
    char *name = shapes->names;
    for (size_t k = 0; k < texts->count; k++) {
        if (!parse_shape(texts->items[k], &name, &shapes->items[k])) {
            complain(command, "--shape: '%s' is not NAME=DIMS; give one such as input=1x3x224x224",
                     texts->items[k]);
            shapes_free(shapes);
            return EXIT_BAD_INPUT;
        }
        shapes->count++;
    }
    return EXIT_OK;
}

void shapes_free(struct shape_list *shapes)
{
    free(shapes->names);
    shapes->names = NULL;
    shapes->count = 0;
}

int load_model(collage_context *context, const char *command, const char *path,
               const struct option_list *texts, collage_model **out)
{
    struct shape_list shapes;
    int result = shapes_parse(command, texts, &shapes);
    if (result != EXIT_OK)
        return result;
    collage_status status = collage_model_load(context, path, shapes.items, shapes.count, out);
    if (status != COLLAGE_OK)
        result = complain_of(context, status);
    shapes_free(&shapes);
    return result;
}
