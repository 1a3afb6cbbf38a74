/*
 * Stands between a process and its disk (LD_PRELOAD), for files of one folder only.
 *
 *   ROOKERY_SHIM_FOLDER     the folder; nothing else is touched
 *   ROOKERY_SHIM_TRACE      a file that gets every write, truncation and sync, in order
 *   ROOKERY_SHIM_FAIL_AT    the number of the fsync that fails with EIO, from 1
 *   ROOKERY_SHIM_FAIL       "once", or "always": every later one too
 *   ROOKERY_SHIM_FULL       a file; while it is there, no other one grows: ENOSPC
 *   ROOKERY_SHIM_QUOTA      anything: EDQUOT in place of that
 *
 * A record of the trace: kind, file, 2 bytes of padding, length (u32), offset (u64), then the bytes
 * written; all in this machine's byte order. Whoever reads the trace is src/disk.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum kind { WRITE = 1, TRUNCATE = 2, SYNC_BEGINS = 3, SYNC_ENDED = 4, SYNC_FAILED = 5 };
/* What a descriptor leads to; 0 is "not ours". */
enum file { DATABASE = 1, LOG = 2, OTHER = 3 };

struct record {
    uint8_t kind, file, padding[2];
    uint32_t length;
    uint64_t offset;
};

enum { DESCRIPTORS = 32768 };
static uint8_t files[DESCRIPTORS];
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static int trace = -1;
static const char *full;
static int no_room = ENOSPC;
static long long fail_at = 0, syncs = 0;
static int fails_always = 0;
static char folder[PATH_MAX];

static int (*real_openat)(int, const char *, int, ...);
static int (*real_close)(int);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_ftruncate)(int, off_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);

__attribute__((constructor)) static void begin(void) {
    if (real_openat) return;
    real_openat = dlsym(RTLD_NEXT, "openat64");
    real_close = dlsym(RTLD_NEXT, "close");
    real_write = dlsym(RTLD_NEXT, "write");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    const char *where = getenv("ROOKERY_SHIM_FOLDER"), *path = getenv("ROOKERY_SHIM_TRACE");
    const char *how = getenv("ROOKERY_SHIM_FAIL"), *at = getenv("ROOKERY_SHIM_FAIL_AT");
    if (!where || !realpath(where, folder)) folder[0] = 0;
    if (path) trace = real_openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    fail_at = at ? atoll(at) : 0;
    fails_always = how && strcmp(how, "always") == 0;
    full = getenv("ROOKERY_SHIM_FULL");
    if (getenv("ROOKERY_SHIM_QUOTA")) no_room = EDQUOT;
}

static void opened(int fd) {
    char link[64], path[PATH_MAX];
    if (fd < 0 || fd >= DESCRIPTORS) return;
    files[fd] = 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    size_t prefix = strlen(folder);
    if (length <= 0 || prefix == 0) return;
    path[length] = 0;
    if (strncmp(path, folder, prefix) != 0 || (path[prefix] != '/' && path[prefix])) return;
    const char *name = path + prefix;
    /* The folder itself: SQLite syncs it at each connection's first commit and ignores the result.
     * The server syncs it once by itself, and does not start when that fails. */
    if (!name[0]) return;
    if (strcmp(name, "/rookery.db") == 0) files[fd] = DATABASE;
    else if (strcmp(name, "/rookery.db-wal") == 0) files[fd] = LOG;
    else files[fd] = OTHER;
}

static int file_of(int fd) { return fd >= 0 && fd < DESCRIPTORS ? files[fd] : 0; }

/* With the order held. */
static void note(int kind, int file, const void *bytes, size_t length, off_t offset) {
    if (trace < 0 || file == OTHER) return;
    struct record record = {.kind = kind, .file = file, .length = length, .offset = offset};
    if (real_write(trace, &record, sizeof record) != sizeof record) abort();
    while (length > 0) {
        ssize_t written = real_write(trace, bytes, length);
        if (written <= 0) abort();
        bytes = (const char *)bytes + written;
        length -= written;
    }
}

static int open_any(int at, const char *path, int flags, mode_t mode) {
    /* Other libraries may open files before their turn. */
    if (!real_openat) begin();
    int fd = real_openat(at, path, flags, mode);
    if (fd >= 0) opened(fd);
    return fd;
}

#define MODE(flags, mode)                                        \
    mode_t mode = 0;                                             \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                       \
        va_list rest;                                            \
        va_start(rest, flags);                                   \
        mode = va_arg(rest, mode_t);                             \
        va_end(rest);                                            \
    }

int open(const char *path, int flags, ...) {
    MODE(flags, mode)
    return open_any(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    MODE(flags, mode)
    return open_any(AT_FDCWD, path, flags, mode);
}
int openat(int at, const char *path, int flags, ...) {
    MODE(flags, mode)
    return open_any(at, path, flags, mode);
}
int openat64(int at, const char *path, int flags, ...) {
    MODE(flags, mode)
    return open_any(at, path, flags, mode);
}

int close(int fd) {
    if (file_of(fd)) files[fd] = 0;
    return real_close(fd);
}

/* Writes at `offset`, or where the descriptor stands when it is negative. */
static ssize_t write_at(int fd, const void *bytes, size_t length, off_t offset) {
    int file = file_of(fd), stands = offset < 0;
    if (!file) return stands ? real_write(fd, bytes, length) : real_pwrite(fd, bytes, length, offset);
    pthread_mutex_lock(&order);
    off_t where = stands ? lseek(fd, 0, SEEK_CUR) : offset;
    ssize_t written;
    struct stat now;
    int grows = full && fstat(fd, &now) == 0 && where + (off_t)length > now.st_size;
    if (grows && access(full, F_OK) == 0) {
        errno = no_room;
        written = -1;
    } else {
        written = stands ? real_write(fd, bytes, length) : real_pwrite(fd, bytes, length, offset);
    }
    int saved = errno;
    if (written > 0) note(WRITE, file, bytes, written, where);
    pthread_mutex_unlock(&order);
    errno = saved;
    return written;
}

ssize_t write(int fd, const void *bytes, size_t length) { return write_at(fd, bytes, length, -1); }
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
    return write_at(fd, bytes, length, offset);
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) {
    return write_at(fd, bytes, length, offset);
}

static int truncate_to(int fd, off_t size) {
    int file = file_of(fd);
    if (!file) return real_ftruncate(fd, size);
    pthread_mutex_lock(&order);
    int result = real_ftruncate(fd, size), saved = errno;
    if (result == 0) note(TRUNCATE, file, "", 0, size);
    pthread_mutex_unlock(&order);
    errno = saved;
    return result;
}
int ftruncate(int fd, off_t size) { return truncate_to(fd, size); }
int ftruncate64(int fd, off_t size) { return truncate_to(fd, size); }

static int sync_with(int fd, int (*real)(int)) {
    int file = file_of(fd);
    if (!file) return real(fd);
    pthread_mutex_lock(&order);
    long long mine = ++syncs;
    int fails = fail_at > 0 && (mine == fail_at || (fails_always && mine > fail_at));
    note(SYNC_BEGINS, file, "", 0, mine);
    pthread_mutex_unlock(&order);
    if (fails) {
        char link[64], path[PATH_MAX];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t size = readlink(link, path, sizeof path);
        dprintf(2, "shim: sync %lld fails, of %.*s\n", mine, size > 0 ? (int)size : 0, path);
    }
    int result = fails ? -1 : real(fd), saved = fails ? EIO : errno;
    pthread_mutex_lock(&order);
    note(result == 0 ? SYNC_ENDED : SYNC_FAILED, file, "", 0, mine);
    pthread_mutex_unlock(&order);
    errno = saved;
    return result;
}
int fsync(int fd) { return sync_with(fd, real_fsync); }
int fdatasync(int fd) { return sync_with(fd, real_fdatasync); }
