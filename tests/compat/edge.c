// Path system calls with arguments at the edges: one line each, what it returned and what it left. Run in an empty
// directory, which alone it changes, it prints the same natively and guarded.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <unistd.h>
#include <utime.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#define RENAME_EXCHANGE 2
#endif

static char name255[256], name256[257], path4095[4096], path4096[70000], *at_end, *beyond_end;
static int top, dir, file, opath, pipes[2];

static void remove_all(const char *name) {
    struct stat s;
    if (lstat(name, &s)) return;
    if (S_ISDIR(s.st_mode)) {
        chmod(name, 0700);
        DIR *d = opendir(name);
        if (d) {
            int here = open(".", O_RDONLY | O_DIRECTORY);
            if (here >= 0 && !fchdir(dirfd(d)))
                for (struct dirent *e; (e = readdir(d));)
                    if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) remove_all(e->d_name);
            if (here >= 0 && fchdir(here)) abort();
            close(here);
            closedir(d);
        }
        rmdir(name);
    } else {
        unlink(name);
    }
}

static void put(const char *name, const char *text, int mode) {
    int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    if (fd < 0 || write(fd, text, strlen(text)) < 0) perror(name), exit(9);
    fchmod(fd, mode);
    close(fd);
}

// One of everything, in the directory "w", which becomes the current one.
static void fresh(void) {
    if (fchdir(top) || fchmod(dir, 0755)) exit(9);
    remove_all("w");
    if (mkdir("w", 0755) || chdir("w")) perror("w"), exit(9);
    put("f", "data", 0644), put("ro", "ro", 0444), put("none", "none", 0), put("run", "#!/bin/true\n", 0755), put("bad", "no program", 0755);
    mkdir("d", 0755), put("d/g", "inner", 0644), mkdir("empty", 0755), mkdir("shut", 0), mkdir("fixed", 0755), put("fixed/z", "z", 0644), chmod("fixed", 0555);
    (void)!symlink("f", "l"), (void)!symlink("d", "dl"), (void)!symlink("nowhere", "dang"), (void)!symlink("loop2", "loop1"), (void)!symlink("loop1", "loop2");
    (void)!symlink("/proc/self/cwd/f", "self"), (void)!symlink("d/../l", "chain"), (void)!symlink("run", "lrun");
    mkfifo("p", 0644), mkdir("sticky", 01777), link("f", "hard");
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "s"};
    if (bind(s, (void *)&a, sizeof a)) perror("bind"), exit(9);
    close(s);
}

static int compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void show_directory(const char *name) {
    char *names[64];
    int n = 0;
    DIR *d = opendir(name);
    if (!d) return;
    for (struct dirent *e; n < 64 && (e = readdir(d));) names[n++] = strdup(e->d_name);
    closedir(d);
    qsort(names, n, sizeof *names, compare);
    for (int i = 0; i < n; i++) {
        struct stat s;
        char full[600];
        snprintf(full, sizeof full, "%s/%s", name, names[i]);
        if (strcmp(names[i], "..") && !lstat(full, &s))
            printf(" %.20s:%o,%ld,%ld", names[i], s.st_mode, S_ISDIR(s.st_mode) ? 0 : (long)s.st_size, (long)s.st_nlink);
        free(names[i]);
    }
}

static void say(const char *what, const char *path, long r) {
    int e = errno;
    printf("%s %s = %ld %s", what, path, r, r < 0 ? strerrorname_np(e) : "");
    if (r >= 0) {
        show_directory(".");
        printf(" |");
        show_directory("d");
        fresh();
    }
    putchar('\n');
}
#define SAY(what, call) (errno = 0, say(what, label, (long)(call)))

static int flags_now;
static void opened(const char *what, const char *path, int fd) {
    int e = errno;
    printf("%s %s = %d %s", what, path, fd, fd < 0 ? strerrorname_np(e) : "");
    if (fd >= 0) {
        struct stat s;
        char text[9] = "";
        fstat(fd, &s);
        long n = S_ISREG(s.st_mode) ? read(fd, text, 8) : -2;
        printf(" fl %x fd %d mode %o size %ld read %ld %s", fcntl(fd, F_GETFL) & ~O_NOFOLLOW, fcntl(fd, F_GETFD), s.st_mode, S_ISREG(s.st_mode) ? (long)s.st_size : -1, n, text);
        close(fd);
        if (flags_now & (O_CREAT | O_TRUNC)) show_directory("."), fresh();
    }
    putchar('\n');
}
// O_NOFOLLOW is left out of what is shown: it says nothing of an open file.
#define OPEN(what, flags, call) (flags_now = flags, errno = 0, opened(what, label, (int)(call)))

static long forked_exec(const char *path, int at, int flags) {
    fflush(stdout);
    int err[2];
    if (pipe2(err, O_CLOEXEC)) exit(9);
    pid_t pid = fork();
    if (!pid) {
        char *argv[] = {"x", NULL}, *envp[] = {NULL};
        if (flags < 0) execve(path, argv, envp);
        else syscall(SYS_execveat, at, path, argv, envp, flags);
        int e = errno;
        (void)!write(err[1], &e, sizeof e);
        _exit(1);
    }
    close(err[1]);
    int e = 0, status;
    long n = read(err[0], &e, sizeof e);
    close(err[0]);
    waitpid(pid, &status, 0);
    errno = e;
    return n == sizeof e ? -1 : status;
}

static long socket_call(const char *path, int binds) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    size_t n = strlen(path);
    if (n > sizeof a.sun_path) n = sizeof a.sun_path;
    memcpy(a.sun_path, path, n);
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + n + (n < sizeof a.sun_path);
    long r = binds ? bind(s, (void *)&a, length) : connect(s, (void *)&a, length);
    int e = errno;
    close(s);
    errno = e;
    return r;
}

static const struct { const char *name; int flags; } FLAGS[] = {
    {"r", O_RDONLY | O_NONBLOCK}, {"w", O_WRONLY | O_NONBLOCK}, {"rw", O_RDWR | O_NONBLOCK}, {"3", 3 | O_NONBLOCK},
    {"creat", O_RDWR | O_CREAT | O_NONBLOCK}, {"creat-r", O_RDONLY | O_CREAT | O_NONBLOCK}, {"excl", O_RDWR | O_CREAT | O_EXCL},
    {"excl-nofollow", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW}, {"excl-alone", O_RDONLY | O_EXCL | O_NONBLOCK}, {"creat-dir", O_CREAT | O_DIRECTORY},
    {"dir", O_DIRECTORY}, {"dir-w", O_DIRECTORY | O_WRONLY}, {"nofollow", O_NOFOLLOW | O_NONBLOCK}, {"nofollow-dir", O_NOFOLLOW | O_DIRECTORY},
    {"nofollow-creat", O_NOFOLLOW | O_CREAT | O_RDWR | O_NONBLOCK}, {"path", O_PATH}, {"path-nofollow", O_PATH | O_NOFOLLOW}, {"path-dir", O_PATH | O_DIRECTORY},
    {"path-creat", O_PATH | O_CREAT}, {"trunc-r", O_TRUNC | O_NONBLOCK}, {"trunc-w", O_TRUNC | O_WRONLY | O_NONBLOCK}, {"trunc-creat", O_TRUNC | O_CREAT | O_WRONLY | O_NONBLOCK},
    {"tmpfile", O_TMPFILE | O_RDWR}, {"tmpfile-r", O_TMPFILE | O_RDONLY}, {"tmpfile-excl", O_TMPFILE | O_WRONLY | O_EXCL}, {"tmpfile-creat", O_TMPFILE | O_RDWR | O_CREAT},
    {"append", O_APPEND | O_WRONLY | O_NONBLOCK}, {"cloexec", O_CLOEXEC | O_NONBLOCK}, {"noatime", O_NOATIME | O_NONBLOCK}, {"unknown", O_NONBLOCK | 0x40000000}, {"sync", O_SYNC | O_RDWR | O_NONBLOCK},
};

// With RESOLVE_BENEATH or RESOLVE_IN_ROOT and `..`, this fails if anything was renamed or mounted meanwhile, on the whole
// machine. The caller is to try again (openat2(2), EAGAIN).
static long openat2_again(const char *path, struct open_how *how) {
    long file = -1;
    for (int tries = 0; tries < 1000; tries++) {
        file = syscall(SYS_openat2, AT_FDCWD, path, how, sizeof *how);
        if (file >= 0 || errno != EAGAIN)
            break;
    }
    return file;
}

static void opens(const char *label, const char *path) {
    char what[64];
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++) {
        snprintf(what, sizeof what, "open[%s]", FLAGS[i].name);
        OPEN(what, FLAGS[i].flags, syscall(SYS_open, path, FLAGS[i].flags, 0640));
    }
    // A FIFO would wait for a reader.
    if (strcmp(label, "p")) OPEN("creat", O_CREAT, syscall(SYS_creat, path, 0604));
    OPEN("open odd mode", O_CREAT, syscall(SYS_open, path, O_CREAT | O_RDWR | O_NONBLOCK, 0xfffff));
    OPEN("openat bad fd", 0, syscall(SYS_openat, -1, path, O_RDONLY | O_NONBLOCK, 0));
    OPEN("openat closed fd", O_CREAT, syscall(SYS_openat, 999, path, O_CREAT | O_RDWR | O_NONBLOCK, 0644));
    OPEN("openat file", 0, syscall(SYS_openat, file, path, O_RDONLY | O_NONBLOCK, 0));
    OPEN("openat dir", 0, syscall(SYS_openat, dir, path, O_RDONLY | O_NONBLOCK, 0));
    OPEN("openat dir creat", O_CREAT, syscall(SYS_openat, dir, path, O_RDWR | O_CREAT | O_NONBLOCK, 0600));
    OPEN("openat opath", 0, syscall(SYS_openat, opath, path, O_RDONLY | O_NONBLOCK, 0));
    OPEN("openat pipe", 0, syscall(SYS_openat, pipes[0], path, O_RDONLY | O_NONBLOCK, 0));
    static const struct { const char *name; unsigned long flag; } RESOLVE[] = {
        {"0", 0}, {"no_symlinks", RESOLVE_NO_SYMLINKS}, {"no_magiclinks", RESOLVE_NO_MAGICLINKS}, {"beneath", RESOLVE_BENEATH}, {"in_root", RESOLVE_IN_ROOT},
        {"no_xdev", RESOLVE_NO_XDEV}, {"both", RESOLVE_BENEATH | RESOLVE_IN_ROOT}, {"bad", 1 << 20}};
    for (size_t i = 0; i < sizeof RESOLVE / sizeof *RESOLVE; i++) {
        static const struct { const char *name; int flags, mode; } HOW[] = {{"r", O_NONBLOCK, 0}, {"creat", O_CREAT | O_RDWR | O_NONBLOCK, 0640}, {"mode", O_NONBLOCK, 0640}, {"nofollow", O_NOFOLLOW | O_NONBLOCK, 0}, {"excl", O_CREAT | O_EXCL | O_WRONLY, 0600}, {"path", O_PATH, 0}, {"unknown", 1 << 30, 0}};
        for (size_t j = 0; j < sizeof HOW / sizeof *HOW; j++) {
            struct open_how how = {.flags = HOW[j].flags, .mode = HOW[j].mode, .resolve = RESOLVE[i].flag};
            snprintf(what, sizeof what, "openat2[%s,%s]", RESOLVE[i].name, HOW[j].name);
            OPEN(what, HOW[j].flags, openat2_again(path, &how));
        }
    }
}

static void entries(const char *label, const char *path) {
    SAY("mkdir", syscall(SYS_mkdir, path, 0750));
    SAY("mkdir odd mode", syscall(SYS_mkdir, path, 0xfffff));
    SAY("mkdirat dir", mkdirat(dir, path, 0700));
    SAY("mkdirat file", mkdirat(file, path, 0700));
    SAY("mknod 0", syscall(SYS_mknod, path, 0644, 0));
    SAY("mknod reg", syscall(SYS_mknod, path, S_IFREG | 04755, 0));
    SAY("mknod fifo", syscall(SYS_mknod, path, S_IFIFO | 0600, 0));
    SAY("mknod sock", syscall(SYS_mknod, path, S_IFSOCK | 0600, 0));
    SAY("mknod chr", syscall(SYS_mknod, path, S_IFCHR | 0600, 0x103));
    SAY("mknod dir", syscall(SYS_mknod, path, S_IFDIR | 0700, 0));
    SAY("mknod bad", syscall(SYS_mknod, path, 0170000, 0));
    SAY("unlink", syscall(SYS_unlink, path));
    SAY("rmdir", syscall(SYS_rmdir, path));
    SAY("unlinkat dir", unlinkat(dir, path, 0));
    SAY("unlinkat removedir", unlinkat(AT_FDCWD, path, AT_REMOVEDIR));
    SAY("unlinkat flags", unlinkat(AT_FDCWD, path, 0x1));
    SAY("unlinkat bad fd", unlinkat(-5, path, 0));
    SAY("symlink to", syscall(SYS_symlink, "text", path));
    SAY("symlink of", syscall(SYS_symlink, path, "new"));
    SAY("symlink empty", syscall(SYS_symlink, "", path));
    SAY("symlinkat dir", symlinkat("text", dir, path));
    SAY("truncate 2", truncate(path, 2));
    SAY("truncate -1", truncate(path, -1));
    SAY("chdir", syscall(SYS_chdir, path) ? -1 : fchdir(top));
}

static void moves(const char *label, const char *path) {
    SAY("link from", syscall(SYS_link, path, "new"));
    SAY("link to", syscall(SYS_link, "f", path));
    SAY("link from dir", syscall(SYS_link, "d", path));
    SAY("linkat follow", linkat(AT_FDCWD, path, AT_FDCWD, "new", AT_SYMLINK_FOLLOW));
    SAY("linkat flags", linkat(AT_FDCWD, path, AT_FDCWD, "new", 0x1));
    SAY("linkat bad fd", linkat(-3, path, AT_FDCWD, "new", 0));
    static const char *const OTHERS[] = {"f", "d", "empty", "l", "dl", "dang", "p", "missing", "d/", "empty/", "f/", "dl/", ".", "d/..", "shut/x", "fixed/z", "/", ""};
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++) {
        char what[64];
        snprintf(what, sizeof what, "rename %s to", OTHERS[i]);
        SAY(what, syscall(SYS_rename, OTHERS[i], path));
        snprintf(what, sizeof what, "exchange %s", OTHERS[i]);
        SAY(what, syscall(SYS_renameat2, AT_FDCWD, OTHERS[i], AT_FDCWD, path, RENAME_EXCHANGE));
        snprintf(what, sizeof what, "noreplace %s to", OTHERS[i]);
        SAY(what, syscall(SYS_renameat2, AT_FDCWD, OTHERS[i], AT_FDCWD, path, RENAME_NOREPLACE));
    }
    SAY("rename to new", syscall(SYS_rename, path, "new"));
    SAY("rename to new/", syscall(SYS_rename, path, "new/"));
    SAY("rename to l", syscall(SYS_rename, path, "l"));
    SAY("rename into", syscall(SYS_rename, path, "d/x"));
    SAY("rename below itself", syscall(SYS_rename, "d", "d/x"));
    SAY("renameat fds", syscall(SYS_renameat, dir, path, dir, "h"));
    SAY("renameat2 flags", syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, "new", 0x10));
    SAY("renameat2 both", syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, "new", 3));
}

static void attributes(const char *label, const char *path) {
    struct timespec omit[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}}, bad[2] = {{0, 2000000000}, {0, 0}}, set[2] = {{5, 6}, {7, 8}};
    struct timeval bad_tv[2] = {{0, -1}, {0, 0}}, set_tv[2] = {{5, 6}, {7, 8}};
    struct utimbuf set_b = {5, 7};
    SAY("chmod", syscall(SYS_chmod, path, 0604));
    SAY("chmod odd", syscall(SYS_chmod, path, 0xffff0604));
    SAY("fchmodat dir", syscall(SYS_fchmodat, dir, path, 0600));
    SAY("fchmodat2 nofollow", syscall(SYS_fchmodat2, AT_FDCWD, path, 0600, AT_SYMLINK_NOFOLLOW));
    SAY("fchmodat2 empty", syscall(SYS_fchmodat2, AT_FDCWD, path, 0700, AT_EMPTY_PATH));
    SAY("fchmodat2 flags", syscall(SYS_fchmodat2, AT_FDCWD, path, 0600, 1));
    SAY("chown", syscall(SYS_chown, path, -1, -1));
    SAY("chown own", syscall(SYS_chown, path, getuid(), getgid()));
    SAY("chown other", syscall(SYS_chown, path, 4242, -1));
    SAY("lchown", syscall(SYS_lchown, path, getuid(), -1));
    SAY("fchownat empty", syscall(SYS_fchownat, AT_FDCWD, path, -1, -1, AT_EMPTY_PATH));
    SAY("fchownat flags", syscall(SYS_fchownat, AT_FDCWD, path, -1, -1, 1));
    SAY("fchownat fd", syscall(SYS_fchownat, -7, path, -1, -1, 0));
    SAY("utime null", syscall(SYS_utime, path, NULL));
    SAY("utime", syscall(SYS_utime, path, &set_b));
    SAY("utime bad", syscall(SYS_utime, path, (void *)1));
    SAY("utimes", syscall(SYS_utimes, path, set_tv));
    SAY("utimes bad", syscall(SYS_utimes, path, bad_tv));
    SAY("futimesat", syscall(SYS_futimesat, dir, path, set_tv));
    SAY("futimesat null", syscall(SYS_futimesat, file, NULL, set_tv));
    SAY("utimensat", syscall(SYS_utimensat, AT_FDCWD, path, set, 0));
    SAY("utimensat null", syscall(SYS_utimensat, AT_FDCWD, path, NULL, 0));
    SAY("utimensat nofollow", syscall(SYS_utimensat, AT_FDCWD, path, set, AT_SYMLINK_NOFOLLOW));
    SAY("utimensat omit", syscall(SYS_utimensat, AT_FDCWD, path, omit, 0));
    SAY("utimensat bad", access(path, F_OK) ? -1 : syscall(SYS_utimensat, AT_FDCWD, path, bad, 0));
    SAY("utimensat flags", syscall(SYS_utimensat, AT_FDCWD, path, set, 1));
    SAY("utimensat empty", syscall(SYS_utimensat, dir, path, set, AT_EMPTY_PATH));
    SAY("setxattr", setxattr(path, "user.a", "v", 1, 0));
    SAY("setxattr replace", setxattr(path, "user.a", "v", 1, XATTR_REPLACE));
    SAY("setxattr flags", setxattr(path, "user.a", "v", 1, 4));
    SAY("setxattr empty name", setxattr(path, "", "v", 1, 0));
    SAY("setxattr long name", setxattr(path, name256, "v", 1, 0));
    SAY("setxattr big", setxattr(path, "user.a", path4096, 70000, 0));
    SAY("setxattr null", setxattr(path, "user.a", NULL, 3, 0));
    SAY("setxattr zero", setxattr(path, "user.a", NULL, 0, 0));
    SAY("setxattr trusted", setxattr(path, "trusted.a", "v", 1, 0));
    SAY("setxattr unknown", setxattr(path, "nonsense.a", "v", 1, 0));
    SAY("lsetxattr", lsetxattr(path, "user.a", "v", 1, 0));
    SAY("removexattr", removexattr(path, "user.a"));
    SAY("lremovexattr", lremovexattr(path, "user.a"));
}

static void programs_and_sockets(const char *label, const char *path, int readable) {
    SAY("execve", forked_exec(path, 0, -1));
    SAY("execveat", forked_exec(path, AT_FDCWD, 0));
    SAY("execveat nofollow", forked_exec(path, AT_FDCWD, AT_SYMLINK_NOFOLLOW));
    SAY("execveat empty", forked_exec(path, file, AT_EMPTY_PATH));
    SAY("execveat dir", forked_exec(path, dir, 0));
    SAY("execveat file", forked_exec(path, file, 0));
    if (!readable) return;
    if (*path) SAY("execveat flags", forked_exec(path, AT_FDCWD, 1));
    SAY("connect", socket_call(path, 0));
    SAY("bind", socket_call(path, 1));
}

// Calls that take no path.
static void descriptors(void) {
    const char *label = "-";
    char b[9] = "";
    struct timespec set[2] = {{5, 6}, {7, 8}};
    int ro = open("f", O_RDONLY), rw = open("f", O_RDWR), gone = open("gone", O_CREAT | O_RDWR, 0600), link_fd = open("l", O_PATH | O_NOFOLLOW);
    unlink("gone");
    const int fds[] = {-1, 999, ro, rw, gone, dir, opath, link_fd, pipes[0], pipes[1]};
    const char *const names[] = {"-1", "999", "ro", "rw", "gone", "dir", "opath", "link", "pipe0", "pipe1"};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        int fd = fds[i], again;
        label = names[i];
#define ON(what, call) (errno = 0, b[0] = 0, printf("%s %s = %ld ", what, label, (long)(call)), puts(errno ? strerrorname_np(errno) : ""))
        ON("fchmod", fchmod(fd, 0640)), ON("fchown", fchown(fd, -1, -1)), ON("futimens", futimens(fd, set)), ON("utimensat null path", syscall(SYS_utimensat, fd, NULL, set, 0));
        ON("fsetxattr", fsetxattr(fd, "user.d", "v", 1, 0)), ON("fremovexattr", fremovexattr(fd, "user.d")), ON("ftruncate", ftruncate(fd, 3));
        ON("fchownat empty", syscall(SYS_fchownat, fd, "", -1, -1, AT_EMPTY_PATH)), ON("fchmodat2 empty", syscall(SYS_fchmodat2, fd, "", 0644, AT_EMPTY_PATH));
        ON("utimensat empty", syscall(SYS_utimensat, fd, "", set, AT_EMPTY_PATH)), ON("linkat empty", linkat(fd, "", AT_FDCWD, "linked", AT_EMPTY_PATH)), ON("unlink", unlink("linked"));
        ON("execveat empty", forked_exec("", fd, AT_EMPTY_PATH)), ON("openat .", again = (int)syscall(SYS_openat, fd, ".", O_RDONLY)), close(again), ON("openat empty", syscall(SYS_openat, fd, "", O_RDONLY));
        ON("FIONREAD", ioctl(fd, FIONREAD, b)), ON("TCGETS", ioctl(fd, TCGETS, &(struct termios){0})), ON("FIOCLEX", ioctl(fd, FIOCLEX)), ON("FIGETBSZ", ioctl(fd, 2, b)), ON("FS_IOC_GETFLAGS", ioctl(fd, 0x80086601, b));
        ON("F_SETOWN self", fcntl(fd, F_SETOWN, getpid())), ON("F_SETOWN 0", fcntl(fd, F_SETOWN, 0)), ON("fchdir", fchdir(fd));
                void *m = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
        fchdir(top), fresh();
        printf("mmap exec %s %s\n", label, m == MAP_FAILED ? strerrorname_np(errno) : "ok");
        m = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
        if (m != MAP_FAILED) ON("mprotect exec", mprotect(m, 4096, PROT_READ | PROT_EXEC)), munmap(m, 4096);
        char link[64], text[64] = "";
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        again = open(link, O_RDONLY | O_NONBLOCK);
        printf("reopen %s %s %ld\n", label, again < 0 ? strerrorname_np(errno) : "ok", again < 0 ? 0L : (long)read(again, text, 4));
        if (again >= 0) close(again);
        fresh();
        (void)!write(pipes[1], "pipe", 4), (void)!read(pipes[0], b, 8);
    }
    label = "0", ON("kill self", kill(getpid(), 0)), ON("kill missing", kill(99999999, 0)), ON("kill bad", kill(getpid(), 99));
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "n"};
    static const int LENGTHS[] = {0, 1, 2, 3, 4, 109, 110, 111, 128, 129, -1};
    for (size_t i = 0; i < sizeof LENGTHS / sizeof *LENGTHS; i++) {
        int s = socket(AF_UNIX, SOCK_STREAM, 0);
        char length[16];
        snprintf(length, sizeof length, "%d", LENGTHS[i]), label = length;
        ON("connect length", connect(s, (void *)&a, LENGTHS[i])), ON("bind length", bind(s, (void *)&a, LENGTHS[i])), ON("bind again", bind(s, (void *)&a, sizeof a));
        close(s), unlink("n"), s = socket(AF_INET, SOCK_STREAM, 0);
        ON("connect unix to inet", connect(s, (void *)&a, LENGTHS[i])), ON("bind null", bind(s, NULL, LENGTHS[i])), close(s);
    }
}

// With `PART PARTS` it does one part of the work.
int main(int argc, char **argv) {
    size_t part = argc > 2 ? atoi(argv[1]) : 0, parts = argc > 2 ? atoi(argv[2]) : 1;
    memset(name255, 'n', 255), memset(name256, 'n', 256);
    memset(path4095, '/', 4095), memcpy(path4095 + 4095 - 19, "proc/self/cwd/d/g", 17), memcpy(path4095 + 4095 - 2, "//", 2);
    path4095[4093] = 0, memmove(path4095 + 2, path4095, 4094), path4095[0] = path4095[1] = '/';
    memset(path4096, '/', 4095), path4096[4095] = 'x';
    char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + 2 * 4096, 4096, PROT_NONE);
    at_end = pages + 2 * 4096 - 2, strcpy(at_end, "f");
    char *across = pages + 4096 - 2;
    beyond_end = pages + 2 * 4096;
    top = open(".", O_RDONLY | O_DIRECTORY);
    // The descriptors that *at calls start from stand beside what is made anew.
    if (mkdir("w", 0755) || mkdir("keep", 0755)) return 9;
    dir = open("keep", O_RDONLY | O_DIRECTORY);
    if (chdir("w")) return 9;
    put("../keep/g", "kept", 0755);
    file = open("../keep/g", O_RDONLY), opath = open("../keep", O_PATH);
    if (pipe(pipes)) return 9;
    umask(022);
    fresh();
    static const char *const PATHS[] = {
        "", ".", "..", "/", "f", "f/", "f/.", "f/..", "f/x", "./f", ".//f", "d", "d/", "d/.", "d/..", "d//g", "d/./g", "d/../f", "d/../../w/f", "empty", "empty/", "l", "l/", "l/x", "dl", "dl/",
        "dl/g", "dl/.", "dl/..", "dl/../f", "dang", "dang/", "dang/x", "loop1", "loop1/", "loop1/x", "self", "chain", "p", "p/", "s", "s/", "ro", "none", "run", "run/", "bad", "lrun",
        "shut", "shut/", "shut/x", "shut/..", "fixed/z", "fixed/new", "sticky/new", "hard", "missing", "missing/", "missing/.", "missing/..", "missing/x", "missing/../f", "g", "h", "/dev/null", "/dev/null/", "/dev/null/x",
        "/proc/self/cwd", "/proc/self/cwd/", "/proc/self/cwd/f", "/proc/self/fd/999", "/proc/self/nothing", "/proc/nothing", "/nothing-here/x", "//", "/..", "/../../proc/self/cwd/f"};
    for (size_t i = part; i < sizeof PATHS / sizeof *PATHS; i += parts) {
        const char *label = *PATHS[i] ? PATHS[i] : "(empty)", *path = PATHS[i];
        int outside = path[0] == '/' && !strstr(path, "cwd") && !strstr(path, "nothing-here");
        opens(label, path);
        if (!outside || path[1] == 0 || path[1] == '/' || strstr(path, "null/x")) entries(label, path), moves(label, path);
        if (!outside && strcmp(path, "..")) attributes(label, path);
        programs_and_sockets(label, path, 1);
    }
    struct { const char *label, *path; } odd[] = {{"(null)", NULL}, {"(1)", (char *)1}, {"(high)", (char *)-4096}, {"(kernel)", (char *)0xffff888000000000}, {"(unmapped)", beyond_end},
        {"name255", name255}, {"name256", name256}, {"path4095", path4095}, {"path4096", path4096}, {"(at end)", at_end}};
    for (size_t i = part; i < sizeof odd / sizeof *odd; i += parts) {
        opens(odd[i].label, odd[i].path), entries(odd[i].label, odd[i].path), moves(odd[i].label, odd[i].path), attributes(odd[i].label, odd[i].path);
        programs_and_sockets(odd[i].label, odd[i].path, 0);
    }
    if (part) return 0;
    strcpy(across, "missing"), opens("(across)", across), entries("(across)", across);
    memset(pages + 2 * 4096 - 2, 'f', 2), opens("(unterminated)", at_end), entries("(unterminated)", at_end);
    descriptors();
    return 0;
}
