/* Stands between a program and libc, and makes the n-th change to chosen files go wrong.

   Preloaded (LD_PRELOAD). Calls that change a file below one of the folders of
   FAULT_FOLDERS (separated by ':') are numbered from 1. At number FAULT_AT the
   layer does what FAULT_MODE says:

     count        nothing; calls are only written to the log
     kill-before  SIGKILL to the process itself, before the call
     kill-after   the same behind it
     kill-torn    half of the bytes are written, then SIGKILL; as kill-before for other calls
     full         ENOSPC from this call on, for whatever needs space
     full-once    the same for this call alone
     short        half of the bytes are written, and then the disk is full
     error        EIO from this call on
     error-once   the same for this call alone

   Every numbered call is a line in the file FAULT_LOG: its number, a '!' where
   the fault struck, its name, the path. The log is written by the system call
   itself, so that a killed process has its lines too. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum mode { COUNT, KILL_BEFORE, KILL_AFTER, KILL_TORN, FULL, FULL_ONCE, SHORT, ERROR, ERROR_ONCE };
static const char *const mode_names[] = {
    "count", "kill-before", "kill-after", "kill-torn", "full", "full-once", "short", "error",
    "error-once"};

static enum mode mode = COUNT;
static long fault_at = 0;
static const char *folders = "";
static int log_to = -1;
static atomic_long calls = 0;

__attribute__((constructor)) static void read_environment(void) {
    const char *name = getenv("FAULT_MODE");
    for (size_t each = 0; name && each < sizeof mode_names / sizeof *mode_names; each++)
        if (!strcmp(name, mode_names[each])) mode = (enum mode)each;
    if (getenv("FAULT_AT")) fault_at = atol(getenv("FAULT_AT"));
    if (getenv("FAULT_FOLDERS")) folders = getenv("FAULT_FOLDERS");
    if (getenv("FAULT_LOG"))
        log_to = (int)syscall(SYS_openat, AT_FDCWD, getenv("FAULT_LOG"),
                              O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int is_watched(const char *path) {
    const char *start = folders;
    while (*start) {
        size_t length = strcspn(start, ":");
        if (length && !strncmp(path, start, length) &&
            (path[length] == '/' || path[length] == '\0'))
            return 1;
        start += length + (start[length] == ':');
    }
    return 0;
}

static int path_of_descriptor(int descriptor, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0) return 0;
    path[length] = '\0';
    return path[0] == '/';
}

static int absolute(int directory, const char *given, char *path) {
    char base[PATH_MAX];
    if (!given) return 0;
    if (given[0] == '/') return snprintf(path, PATH_MAX, "%s", given) < PATH_MAX;
    if (directory == AT_FDCWD) {
        if (syscall(SYS_getcwd, base, sizeof base) < 0) return 0;
    } else if (!path_of_descriptor(directory, base)) {
        return 0;
    }
    return snprintf(path, PATH_MAX, "%s/%s", base, given) < PATH_MAX;
}

static void write_log(long number, int struck, const char *name, const char *path) {
    char line[PATH_MAX + 64];
    int length = snprintf(line, sizeof line, "%ld%s %s %s\n", number, struck ? "!" : "", name, path);
    if (log_to >= 0 && length > 0) (void)!syscall(SYS_write, log_to, line, (size_t)length);
}

static void die(void) {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
}

/* What is to become of one call. */
enum fate { GO_ON, DIE_AFTER, TEAR, HALF, REFUSE };

/* `needs_space`: a full disk refuses it. `can_be_torn`: it writes bytes. Sets errno for REFUSE. */
static enum fate fate_of(const char *name, const char *path, int needs_space, int can_be_torn) {
    int before = errno;
    long number = atomic_fetch_add(&calls, 1) + 1;
    int now = number == fault_at, later = fault_at > 0 && number > fault_at;
    enum fate fate = GO_ON;
    switch (mode) {
    case COUNT: break;
    case KILL_BEFORE: break;
    case KILL_AFTER: if (now) fate = DIE_AFTER; break;
    case KILL_TORN: if (now && can_be_torn) fate = TEAR; break;
    case FULL: if ((now || later) && needs_space) fate = REFUSE; break;
    case FULL_ONCE: if (now && needs_space) fate = REFUSE; break;
    case SHORT:
        if (now && can_be_torn) fate = HALF;
        else if ((now || later) && needs_space) fate = REFUSE;
        break;
    case ERROR: if (now || later) fate = REFUSE; break;
    case ERROR_ONCE: if (now) fate = REFUSE; break;
    }
    int kills_now = now && (mode == KILL_BEFORE || (mode == KILL_TORN && fate == GO_ON));
    write_log(number, fate != GO_ON || kills_now, name, path);
    if (kills_now) die();
    errno = fate == REFUSE ? (mode == ERROR || mode == ERROR_ONCE ? EIO : ENOSPC) : before;
    return fate;
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = dlsym(RTLD_NEXT, #name)

/* `attempt` is the call; `part` the same with half of its bytes. */
#define PASS(type, fate, attempt, part)                 \
    switch (fate) {                                     \
    case REFUSE: return (type)-1;                       \
    case HALF: return (part);                           \
    case TEAR: (void)!(part); die(); return (type)-1;   \
    case DIE_AFTER: (void)!(attempt); die(); return (type)-1; \
    default: return (attempt);                          \
    }

#define ON_DESCRIPTOR(type, name, descriptor, space, torn, attempt, part)                \
    char path[PATH_MAX];                                                                 \
    int saved = errno;                                                                   \
    int watched = path_of_descriptor(descriptor, path) && is_watched(path);              \
    errno = saved;                                                                       \
    if (!watched) return (attempt);                                                      \
    enum fate fate = fate_of(name, path, space, torn);                                   \
    PASS(type, fate, attempt, part)

#define ON_PATH(name, directory, given, space, attempt)                                  \
    char path[PATH_MAX];                                                                 \
    int saved = errno;                                                                   \
    int watched = absolute(directory, given, path) && is_watched(path);                  \
    errno = saved;                                                                       \
    if (!watched) return (attempt);                                                      \
    enum fate fate = fate_of(name, path, space, 0);                                      \
    PASS(int, fate, attempt, attempt)

/* Bytes */

ssize_t write(int fd, const void *data, size_t size) {
    REAL(write);
    ON_DESCRIPTOR(ssize_t, "write", fd, 1, size > 1, real(fd, data, size), real(fd, data, size / 2))
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    REAL(pwrite);
    ON_DESCRIPTOR(ssize_t, "pwrite", fd, 1, size > 1, real(fd, data, size, at),
                  real(fd, data, size / 2, at))
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    REAL(pwrite64);
    ON_DESCRIPTOR(ssize_t, "pwrite", fd, 1, size > 1, real(fd, data, size, at),
                  real(fd, data, size / 2, at))
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(writev);
    ON_DESCRIPTOR(ssize_t, "writev", fd, 1, count > 1, real(fd, parts, count),
                  real(fd, parts, count / 2))
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
    REAL(pwritev);
    ON_DESCRIPTOR(ssize_t, "pwritev", fd, 1, count > 1, real(fd, parts, count, at),
                  real(fd, parts, count / 2, at))
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) {
    REAL(pwritev64);
    ON_DESCRIPTOR(ssize_t, "pwritev", fd, 1, count > 1, real(fd, parts, count, at),
                  real(fd, parts, count / 2, at))
}
ssize_t sendfile(int out, int in, off_t *at, size_t size) {
    static ssize_t (*real)(int, int, off_t *, size_t);
    if (!real) real = dlsym(RTLD_NEXT, "sendfile");
    ON_DESCRIPTOR(ssize_t, "sendfile", out, 1, size > 1, real(out, in, at, size),
                  real(out, in, at, size / 2))
}
ssize_t sendfile64(int out, int in, off64_t *at, size_t size) {
    static ssize_t (*real)(int, int, off64_t *, size_t);
    if (!real) real = dlsym(RTLD_NEXT, "sendfile64");
    ON_DESCRIPTOR(ssize_t, "sendfile", out, 1, size > 1, real(out, in, at, size),
                  real(out, in, at, size / 2))
}
ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags) {
    REAL(copy_file_range);
    ON_DESCRIPTOR(ssize_t, "copy_file_range", out, 1, size > 1,
                  real(in, from, out, to, size, flags), real(in, from, out, to, size / 2, flags))
}

/* Sizes, and what is on the disk for good */

static int grows(int fd, off64_t size) {
    struct stat64 now;
    return fstat64(fd, &now) == 0 && size > now.st_size;
}
int ftruncate(int fd, off_t size) {
    REAL(ftruncate);
    ON_DESCRIPTOR(int, "ftruncate", fd, grows(fd, size), 0, real(fd, size), real(fd, size))
}
int ftruncate64(int fd, off64_t size) {
    REAL(ftruncate64);
    ON_DESCRIPTOR(int, "ftruncate", fd, grows(fd, size), 0, real(fd, size), real(fd, size))
}
int truncate(const char *given, off_t size) {
    REAL(truncate);
    ON_PATH("truncate", AT_FDCWD, given, 1, real(given, size))
}
int truncate64(const char *given, off64_t size) {
    REAL(truncate64);
    ON_PATH("truncate", AT_FDCWD, given, 1, real(given, size))
}
int fallocate(int fd, int how, off_t at, off_t size) {
    REAL(fallocate);
    ON_DESCRIPTOR(int, "fallocate", fd, 1, 0, real(fd, how, at, size), real(fd, how, at, size))
}
int fallocate64(int fd, int how, off64_t at, off64_t size) {
    REAL(fallocate64);
    ON_DESCRIPTOR(int, "fallocate", fd, 1, 0, real(fd, how, at, size), real(fd, how, at, size))
}
/* These two return the error's number and leave errno alone. */
static int preallocated(int fd, int (*real)(int, off64_t, off64_t), off64_t at, off64_t size) {
    char path[PATH_MAX];
    if (!path_of_descriptor(fd, path) || !is_watched(path)) return real(fd, at, size);
    int before = errno;
    enum fate fate = fate_of("posix_fallocate", path, 1, 0);
    int error = errno;
    errno = before;
    if (fate == REFUSE) return error;
    int result = real(fd, at, size);
    if (fate == DIE_AFTER) die();
    return result;
}
int posix_fallocate(int fd, off_t at, off_t size) {
    static int (*real)(int, off64_t, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "posix_fallocate64");
    return preallocated(fd, real, at, size);
}
int posix_fallocate64(int fd, off64_t at, off64_t size) {
    static int (*real)(int, off64_t, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "posix_fallocate64");
    return preallocated(fd, real, at, size);
}
int fsync(int fd) {
    REAL(fsync);
    ON_DESCRIPTOR(int, "fsync", fd, 1, 0, real(fd), real(fd))
}
int fdatasync(int fd) {
    REAL(fdatasync);
    ON_DESCRIPTOR(int, "fdatasync", fd, 1, 0, real(fd), real(fd))
}

/* Names */

int rename(const char *from, const char *to) {
    REAL(rename);
    ON_PATH("rename", AT_FDCWD, to, 0, real(from, to))
}
int renameat(int from_in, const char *from, int to_in, const char *to) {
    REAL(renameat);
    ON_PATH("rename", to_in, to, 0, real(from_in, from, to_in, to))
}
int renameat2(int from_in, const char *from, int to_in, const char *to, unsigned flags) {
    REAL(renameat2);
    ON_PATH("rename", to_in, to, 0, real(from_in, from, to_in, to, flags))
}
int unlink(const char *given) {
    REAL(unlink);
    ON_PATH("unlink", AT_FDCWD, given, 0, real(given))
}
int unlinkat(int directory, const char *given, int flags) {
    REAL(unlinkat);
    ON_PATH("unlink", directory, given, 0, real(directory, given, flags))
}
int rmdir(const char *given) {
    REAL(rmdir);
    ON_PATH("rmdir", AT_FDCWD, given, 0, real(given))
}
int mkdir(const char *given, mode_t rights) {
    REAL(mkdir);
    ON_PATH("mkdir", AT_FDCWD, given, 1, real(given, rights))
}
int mkdirat(int directory, const char *given, mode_t rights) {
    REAL(mkdirat);
    ON_PATH("mkdir", directory, given, 1, real(directory, given, rights))
}
int link(const char *from, const char *to) {
    REAL(link);
    ON_PATH("link", AT_FDCWD, to, 1, real(from, to))
}
int linkat(int from_in, const char *from, int to_in, const char *to, int flags) {
    REAL(linkat);
    ON_PATH("link", to_in, to, 1, real(from_in, from, to_in, to, flags))
}
int chmod(const char *given, mode_t rights) {
    REAL(chmod);
    ON_PATH("chmod", AT_FDCWD, given, 0, real(given, rights))
}
int fchmodat(int directory, const char *given, mode_t rights, int flags) {
    REAL(fchmodat);
    ON_PATH("chmod", directory, given, 0, real(directory, given, rights, flags))
}
int fchmod(int fd, mode_t rights) {
    REAL(fchmod);
    ON_DESCRIPTOR(int, "fchmod", fd, 0, 0, real(fd, rights), real(fd, rights))
}

/* Opening counts where it makes a file or empties one. */

static int opened(int (*real)(int, const char *, int, ...), int directory, const char *given,
                  int flags, mode_t rights) {
    int saved = errno, makes = 0;
    char path[PATH_MAX];
    if ((flags & (O_CREAT | O_TRUNC)) && absolute(directory, given, path) && is_watched(path))
        makes = (flags & O_TRUNC) || syscall(SYS_faccessat, AT_FDCWD, path, F_OK) != 0;
    errno = saved;
    if (!makes) return real(directory, given, flags, rights);
    enum fate fate = fate_of("create", path, 1, 0);
    PASS(int, fate, real(directory, given, flags, rights), real(directory, given, flags, rights))
}

#define RIGHTS(flags)                                              \
    mode_t rights = 0;                                             \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                         \
        va_list rest;                                              \
        va_start(rest, flags);                                     \
        rights = va_arg(rest, mode_t);                             \
        va_end(rest);                                              \
    }                                                              \
    static int (*real)(int, const char *, int, ...);               \
    if (!real) real = dlsym(RTLD_NEXT, "openat64");

int open(const char *given, int flags, ...) {
    RIGHTS(flags)
    return opened(real, AT_FDCWD, given, flags, rights);
}
int open64(const char *given, int flags, ...) {
    RIGHTS(flags)
    return opened(real, AT_FDCWD, given, flags, rights);
}
int openat(int directory, const char *given, int flags, ...) {
    RIGHTS(flags)
    return opened(real, directory, given, flags, rights);
}
int openat64(int directory, const char *given, int flags, ...) {
    RIGHTS(flags)
    return opened(real, directory, given, flags, rights);
}
int creat(const char *given, mode_t rights) {
    return open64(given, O_WRONLY | O_CREAT | O_TRUNC, rights);
}
int creat64(const char *given, mode_t rights) {
    return open64(given, O_WRONLY | O_CREAT | O_TRUNC, rights);
}
