/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

collage_status file_map(const char *path, struct mapping *out, struct error *error)
{
    *out = (struct mapping){ 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error_system(error, "open", path);
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(fd);
        return error_set(error, COLLAGE_ERROR_IO, "'%s' is not a regular file", path);
    }
    if (info.st_size > 0) {
        void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED) {
            collage_status status = error_system(error, "map", path);
            close(fd);
            return status;
        }
        out->data = data;
        out->bytes = (size_t)info.st_size;
    }
    close(fd);
    return COLLAGE_OK;
}

void file_unmap(struct mapping *mapping)
{
    if (mapping->data)
        munmap((void *)(uintptr_t)mapping->data, mapping->bytes);
    *mapping = (struct mapping){ 0 };
}

struct file_writer {
    int fd;
    char *path, *temporary;
};

static void writer_free(struct file_writer *writer)
{
    memory_free(writer->path);
    memory_free(writer->temporary);
    memory_free(writer);
}

/* A new file beside `path`; its name goes to `temporary`, which has room for it. */
static int open_beside(const char *path, char *temporary, size_t size)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        uint64_t random = 0;
        if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
            random = (uint64_t)getpid() + (uint64_t)attempt;
        snprintf(temporary, size, "%s.%016llx.part", path, (unsigned long long)random);
        int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static collage_status open_writer(struct file_writer *writer, struct error *error)
{
    struct stat info;
    if (stat(writer->path, &info) == 0 && !S_ISREG(info.st_mode))
        return error_set(error, COLLAGE_ERROR_IO, "cannot write '%s': it is not a regular file",
                         writer->path);
    writer->fd = open_beside(writer->path, writer->temporary, strlen(writer->path) + 32);
    if (writer->fd < 0)
        return error_set(error, COLLAGE_ERROR_IO, "cannot write '%s': %s", writer->path,
                         strerror(errno));
    return COLLAGE_OK;
}

collage_status file_writer_open(const char *path, struct file_writer **out, struct error *error)
{
    *out = NULL;
    struct file_writer *writer = memory_alloc(sizeof *writer);
    if (!writer)
        return error_memory(error);
    writer->path = memory_copy_string(path);
    writer->temporary = memory_alloc(strlen(path) + 32);
    collage_status status =
        writer->path && writer->temporary ? open_writer(writer, error) : error_memory(error);
    if (status != COLLAGE_OK) {
        writer_free(writer);
        return status;
    }
    *out = writer;
    return COLLAGE_OK;
}

collage_status file_writer_write(struct file_writer *writer, const void *data, size_t bytes,
                                 struct error *error)
{
    const char *at = data;
    while (bytes > 0) {
        ssize_t n = write(writer->fd, at, bytes < (1u << 30) ? bytes : (1u << 30));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_set(error, COLLAGE_ERROR_IO, "cannot write '%s': %s", writer->path,
                             strerror(errno));
        at += n;
        bytes -= (size_t)n;
    }
    return COLLAGE_OK;
}

collage_status file_writer_commit(struct file_writer *writer, struct error *error)
{
    bool ok = fsync(writer->fd) == 0 || errno == EINVAL;
    ok = close(writer->fd) == 0 && ok;
    ok = ok && rename(writer->temporary, writer->path) == 0;
    collage_status status = COLLAGE_OK;
    if (!ok) {
        status = error_set(error, COLLAGE_ERROR_IO, "cannot write '%s': %s", writer->path,
                           strerror(errno));
        unlink(writer->temporary);
    }
    writer_free(writer);
    return status;
}

void file_writer_abort(struct file_writer *writer)
{
    if (!writer)
        return;
    close(writer->fd);
    unlink(writer->temporary);
    writer_free(writer);
}

/* mode: 0: as the umask has it. */
static collage_status write_all(const char *path, const void *data, size_t bytes, mode_t mode,
                                struct error *error)
{
    struct file_writer *writer;
    collage_status status = file_writer_open(path, &writer, error);
    if (status != COLLAGE_OK)
        return status;
    if (mode && fchmod(writer->fd, mode) != 0)
        status = error_set(error, COLLAGE_ERROR_IO, "cannot write '%s': %s", path, strerror(errno));
    if (status == COLLAGE_OK)
        status = file_writer_write(writer, data, bytes, error);
    if (status != COLLAGE_OK) {
        file_writer_abort(writer);
        return status;
    }
    return file_writer_commit(writer, error);
}

collage_status file_write(const char *path, const void *data, size_t bytes, struct error *error)
{
    return write_all(path, data, bytes, 0, error);
}

collage_status file_write_private(const char *path, const void *data, size_t bytes,
                                  struct error *error)
{
    return write_all(path, data, bytes, S_IRUSR | S_IWUSR, error);
}

collage_status file_write_readable(const char *path, const void *data, size_t bytes,
                                   struct error *error)
{
    return write_all(path, data, bytes, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH, error);
}

const char *file_owner_problem(const struct stat *info)
{
    if (info->st_uid != geteuid() && info->st_uid != 0)
        return "belongs to another user";
    return info->st_mode & (S_IWGRP | S_IWOTH) ? "may be written by other users" : NULL;
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

collage_status file_make_directory(const char *path, struct error *error)
{
    char *copy = memory_copy_string(path);
    if (!copy)
        return error_memory(error);
    for (char *at = copy + 1; *at; at++)
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(copy, 0700);
            *at = '/';
        }
    bool ok = mkdir(copy, 0700) == 0 || errno == EEXIST;
    struct stat info;
    ok = ok && stat(copy, &info) == 0 && S_ISDIR(info.st_mode);
    memory_free(copy);
    return ok ? COLLAGE_OK
              : error_set(error, COLLAGE_ERROR_IO, "cannot make the directory '%s': %s", path,
                          strerror(errno));
}
