// Wears the supervisor out, and then does what is ordinary: "secret" is denied to it and "own" is its own.
//
//   exhaust MODE [COUNT]
//
// Prints what it found out; "answered" comes last, when own could be opened and secret could not.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void rest(long micros) {
    struct timespec time = {micros / 1000000, micros % 1000000 * 1000};
    nanosleep(&time, 0);
}

static const char *ordinary(void) {
    int fd = open("own", O_RDONLY);
    if (fd < 0) return strerror(errno);
    close(fd);
    char text[16] = "";
    fd = open("../secret", O_RDONLY);
    if (fd >= 0) return read(fd, text, 15) > 0 ? "LEAK" : "OPENED";
    return errno == EACCES ? "answered" : strerror(errno);
}

// Callers that die while their call is held, sooner or later.
static void dying(int count) {
    enum { BATCH = 64 };
    unsigned seed = 1;
    for (int done = 0; done < count;) {
        pid_t batch[BATCH];
        int size = 0;
        for (; size < BATCH && done < count; size++, done++) {
            if ((batch[size] = fork())) continue;
            const char *names[] = {"fifo", "../secret", "own", "fifo"};
            for (int at = done;; at++) {
                int fd = open(names[at % 4], O_RDONLY);
                if (fd >= 0) close(fd);
            }
        }
        rest((seed = seed * 1103515245 + 12345) % 4000);
        for (int at = 0; at < size; at++) kill(batch[at], SIGKILL);
        for (int at = 0; at < size; at++) waitpid(batch[at], 0, 0);
    }
    printf("died %d\n", count);
}

static volatile int *started;
static void *wait_for_ever(void *unused) {
    (void)unused;
    __sync_fetch_and_add(started, 1);
    for (;;) {
        int fd = open("fifo", O_RDONLY);
        if (fd >= 0) close(fd);
    }
}

// Calls that never end, so many at once.
static void pending(int count) {
    started = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t holder = fork();
    if (!holder) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pthread_attr_t small;
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, 16384);
        pthread_t thread;
        for (int at = 0; at < count; at++)
            if (pthread_create(&thread, &small, wait_for_ever, 0)) *started += 1000000;
        for (;;) pause();
    }
    for (int look = 0; *started < count && look < 60000; look++) rest(1000);
    printf("pending %d\n", *started);
    // Those that came first wait in the supervisor by now.
    if (count < 4000) puts(ordinary());
    else rest(2000000);
    fflush(stdout);
    kill(holder, SIGKILL);
    waitpid(holder, 0, 0);
    // The supervisor notices the deaths one after the other, and closes what it holds for the dead.
    const char *said = ordinary();
    for (int look = 0; (!strcmp(said, strerror(EMFILE)) || !strcmp(said, strerror(ENFILE))) && look < 6000; look++) {
        rest(10000);
        said = ordinary();
    }
}

static char *edge;  // the last byte that can be read before what cannot be
static int wrong;
static void is(const char *what, long result, int expected) {
    if (result == -1 && errno == expected) return;
    printf("%s: %ld, errno %d instead of %d\n", what, result, result == -1 ? errno : 0, expected);
    wrong++;
}

// Memory that ends in the middle of what is read of it, for every call that reads some.
static void partial(void) {
    char *pages = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(pages + 4096, 4096);
    edge = pages + 4096;
    char *path = memcpy(edge - 3, "own", 3);  // no end
    char *good = memcpy(pages, "own", 4), *none = (char *)16, *kernel = (char *)0xffff800000000000;
    char *bad[] = {path, none, kernel, 0, edge};
    for (int at = 0; at < 5; at++) {
        char *p = bad[at];
        is("openat", syscall(SYS_openat, AT_FDCWD, p, O_RDONLY | O_CREAT, 0600), EFAULT);
        is("truncate", syscall(SYS_truncate, p, 0), EFAULT);
        is("mkdirat", syscall(SYS_mkdirat, AT_FDCWD, p, 0700), EFAULT);
        is("mknodat", syscall(SYS_mknodat, AT_FDCWD, p, S_IFIFO | 0600, 0), EFAULT);
        is("unlinkat", syscall(SYS_unlinkat, AT_FDCWD, p, 0), EFAULT);
        is("renameat", syscall(SYS_renameat, AT_FDCWD, p, AT_FDCWD, good), EFAULT);
        is("renameat to", syscall(SYS_renameat, AT_FDCWD, good, AT_FDCWD, p), EFAULT);
        is("linkat", syscall(SYS_linkat, AT_FDCWD, p, AT_FDCWD, good, 0), EFAULT);
        is("linkat to", syscall(SYS_linkat, AT_FDCWD, good, AT_FDCWD, p, 0), EFAULT);
        is("symlinkat", syscall(SYS_symlinkat, p, AT_FDCWD, "new"), EFAULT);
        is("symlinkat to", syscall(SYS_symlinkat, good, AT_FDCWD, p), EFAULT);
        is("fchmodat", syscall(SYS_fchmodat, AT_FDCWD, p, 0600), EFAULT);
        is("fchownat", syscall(SYS_fchownat, AT_FDCWD, p, -1, -1, 0), EFAULT);
#ifdef SYS_open
        is("open", syscall(SYS_open, p, O_RDONLY), EFAULT);
        is("creat", syscall(SYS_creat, p, 0600), EFAULT);
        is("mkdir", syscall(SYS_mkdir, p, 0700), EFAULT);
        is("mknod", syscall(SYS_mknod, p, S_IFIFO | 0600, 0), EFAULT);
        is("unlink", syscall(SYS_unlink, p), EFAULT);
        is("rmdir", syscall(SYS_rmdir, p), EFAULT);
        is("rename", syscall(SYS_rename, p, good), EFAULT);
        is("rename to", syscall(SYS_rename, good, p), EFAULT);
        is("link", syscall(SYS_link, p, good), EFAULT);
        is("link to", syscall(SYS_link, good, p), EFAULT);
        is("symlink", syscall(SYS_symlink, p, "new"), EFAULT);
        is("symlink to", syscall(SYS_symlink, good, p), EFAULT);
        is("chmod", syscall(SYS_chmod, p, 0600), EFAULT);
        is("chown", syscall(SYS_chown, p, -1, -1), EFAULT);
#endif
        is("setxattr", syscall(SYS_setxattr, p, "user.x", "x", 1, 0), EFAULT);
        is("setxattr name", syscall(SYS_setxattr, good, p, "x", 1, 0), EFAULT);
        is("setxattr value", syscall(SYS_setxattr, good, "user.x", p == 0 ? none : p, 8, 0), EFAULT);
        is("execve", syscall(SYS_execve, p, (char *[]){0}, (char *[]){0}), EFAULT);
        if (p) is("execve argv", syscall(SYS_execve, "/bin/true", (char **)p, (char *[]){0}), EFAULT);
        if (p) is("execve environment", syscall(SYS_execve, "/bin/true", (char *[]){good, 0}, (char **)p), EFAULT);
        if (p) is("execve string", syscall(SYS_execve, "/bin/true", (char *[]){p, 0}, (char *[]){0}), EFAULT);
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        is("connect", syscall(SYS_connect, fd, p, 20), EFAULT);
        is("bind", syscall(SYS_bind, fd, p, 20), EFAULT);
        close(fd);
        // utimensat without a path is about the descriptor.
        if (p) is("utimensat", syscall(SYS_utimensat, AT_FDCWD, p, 0, 0), EFAULT);
        is("utimensat times", syscall(SYS_utimensat, AT_FDCWD, good, p ? p : none, 0), EFAULT);
        is("openat2", syscall(SYS_openat2, AT_FDCWD, good, p, 24), EFAULT);
    }
    // An array of arguments whose end is not there.
    char **array = (char **)(edge - 16);
    array[0] = array[1] = good;
    is("array", syscall(SYS_execve, "/bin/true", array, (char *[]){0}), EFAULT);
    is("array of the environment", syscall(SYS_execve, "/bin/true", (char *[]){good, 0}, array), EFAULT);
    printf("partial: %d wrong\n", wrong);
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    int count = argc > 2 ? atoi(argv[2]) : 0;
    if (!strcmp(argv[1], "dying")) dying(count);
    else if (!strcmp(argv[1], "pending")) pending(count);
    else if (!strcmp(argv[1], "partial")) partial();
    else return 2;
    puts(ordinary());
    return 0;
}
