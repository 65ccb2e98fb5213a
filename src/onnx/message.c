/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protobuf-c unpacks recursively and without limits. So the wire format is walked first, guided by
 * the same descriptors, to bound the nesting; and the allocator that unpacking gets bounds the
 * memory (a message of two bytes on the wire can take hundreds in memory).
 */
#include "onnx/message.h"

#include "base/memory.h"

enum { DEPTH_LIMIT = 32 };
static const uint64_t FILE_LIMIT = (uint64_t)2 << 30;
static const uint64_t MEMORY_BASE = (uint64_t)64 << 20; /* plus a multiple of the file's size */
enum { MEMORY_FACTOR = 24 };

struct cursor {
    const uint8_t *at, *end;
};

static bool read_varint(struct cursor *cursor, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && cursor->at < cursor->end; shift += 7) {
        uint8_t byte = *cursor->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static bool skip(struct cursor *cursor, uint64_t bytes)
{
    if (bytes > (uint64_t)(cursor->end - cursor->at))
        return false;
    cursor->at += bytes;
    return true;
}

/* An open message on the way down: what it is and where it ends. */
struct level {
    const ProtobufCMessageDescriptor *type;
    const uint8_t *end;
};

static const ProtobufCMessageDescriptor *submessage(const ProtobufCMessageDescriptor *type,
                                                    uint64_t field)
{
    const ProtobufCFieldDescriptor *found =
        field > UINT32_MAX ? NULL : protobuf_c_message_descriptor_get_field(type, (unsigned)field);
    return found && found->type == PROTOBUF_C_TYPE_MESSAGE
               ? (const ProtobufCMessageDescriptor *)found->descriptor
               : NULL;
}

/* One field; a sub-message opens a level. */
static bool walk_field(struct cursor *cursor, struct level *levels, int *depth)
{
    enum { VARINT, FIXED64, BYTES, FIXED32 = 5 };
    const struct level *level = &levels[*depth];
    uint64_t key, value;
    if (!read_varint(cursor, &key))
        return false;
    switch (key & 7) {
    case VARINT:
        return read_varint(cursor, &value);
    case FIXED64:
        return skip(cursor, 8);
    case FIXED32:
        return skip(cursor, 4);
    case BYTES:
        break;
    default:
        return false;
    }
    if (!read_varint(cursor, &value) || value > (uint64_t)(cursor->end - cursor->at))
        return false;
    const ProtobufCMessageDescriptor *inner = submessage(level->type, key >> 3);
    if (!inner)
        return skip(cursor, value);
    if (++*depth == DEPTH_LIMIT)
        return false;
    levels[*depth] = (struct level){ inner, cursor->at + value };
    cursor->end = levels[*depth].end;
    return true;
}

static collage_status check_wire(const void *bytes, size_t count, const char *path,
                                 struct error *error)
{
    struct level levels[DEPTH_LIMIT];
    struct cursor cursor = { bytes, (const uint8_t *)bytes + count };
    int depth = 0;
    levels[0] = (struct level){ &onnx__model_proto__descriptor, cursor.end };
    for (;;) {
        while (cursor.at == levels[depth].end) {
            if (depth == 0)
                return COLLAGE_OK;
            cursor.end = levels[--depth].end;
        }
        if (!walk_field(&cursor, levels, &depth))
            return error_set(error, COLLAGE_ERROR_FORMAT,
                             depth == DEPTH_LIMIT
                                 ? "'%s': messages are nested too deeply (at byte %zu)"
                                 : "'%s' is not an ONNX model or is truncated (at byte %zu)",
                             path, (size_t)(cursor.at - (const uint8_t *)bytes));
    }
}

struct budget {
    uint64_t left;
    bool exceeded, failed;
};

static void *budget_alloc(void *data, size_t bytes)
{
    struct budget *budget = data;
    if (bytes > budget->left) {
        budget->exceeded = true;
        return NULL;
    }
    budget->left -= bytes;
    void *block = memory_alloc(bytes);
    budget->failed = budget->failed || !block;
    return block;
}

static void budget_free(void *data, void *block)
{
    (void)data;
    memory_free(block);
}

collage_status message_unpack_model(const void *bytes, size_t count, const char *path,
                                    Onnx__ModelProto **out, struct error *error)
{
    *out = NULL;
    if (count == 0)
        return error_set(error, COLLAGE_ERROR_FORMAT, "'%s' is empty, not an ONNX model", path);
    if (count > FILE_LIMIT)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "'%s' is larger than 2 GB: store its weights as external data", path);
    collage_status status = check_wire(bytes, count, path, error);
    if (status != COLLAGE_OK)
        return status;
    struct budget budget = { MEMORY_BASE + MEMORY_FACTOR * (uint64_t)count, false, false };
    ProtobufCAllocator allocator = { budget_alloc, budget_free, &budget };
    *out = onnx__model_proto__unpack(&allocator, count, bytes);
    if (*out)
        return COLLAGE_OK;
    if (budget.failed)
        return error_memory(error);
    return error_set(error, COLLAGE_ERROR_FORMAT,
                     budget.exceeded ? "'%s' has too many parts for its size"
                                     : "'%s' is not an ONNX model or is damaged",
                     path);
}

void message_free_model(Onnx__ModelProto *model)
{
    struct budget budget = { 0, false, false };
    ProtobufCAllocator allocator = { budget_alloc, budget_free, &budget };
    if (model)
        onnx__model_proto__free_unpacked(model, &allocator);
}
