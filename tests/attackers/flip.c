// An attacker that changes what a system call is about between the guard's look and the kernel's.
//
//   flip MODE SECONDS DIRECTORY thread|process [LOADER [ATTEMPTS]]
//
// It tries for so many seconds, or until it has tried ATTEMPTS times and what it tries with has changed as often.
// DIRECTORY holds work/ (may be read and written), shut/ (may not be touched), only/ (may be read), and the
// programs okay/ and hide/ (hide/ may not be run). Names differ in four bytes, so that one store flips them.
// Prints "attempts N leaks N": how often it tried, and how often it read what is in shut/. Other effects are for
// the test to see.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
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

static const char *dir;
static char *shared;              // what the flipper changes; shared with a process as well
static volatile int *stop;
static volatile long *flips;      // how often it was changed
static volatile uint32_t *word;   // four bytes in it
static uint32_t one, two;
static long attempts, leaks;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void *flip_word(void *unused) {
    (void)unused;
    unsigned seed = 1;
    while (!*stop) {
        *word = one;
        for (volatile unsigned k = 0; k < (seed = seed * 1103515245 + 12345) % 4000; k++);
        *word = two;
        for (volatile unsigned k = 0; k < (seed = seed * 1103515245 + 12345) % 4000; k++);
        ++*flips;
    }
    return 0;
}

// Flips "work" and "shut" in the path, which starts out as the allowed one. The word is made to be aligned.
static char *flipping(const char *allowed, const char *a, const char *b) {
    char text[4096];
    snprintf(text, sizeof text, "%s/%s", dir, allowed);
    size_t at = strlen(dir) + 1;
    char *place = shared + 64 - at % 4;
    strcpy(place, text);
    word = (volatile uint32_t *)(place + at);
    memcpy(&one, a, 4);
    memcpy(&two, b, 4);
    return place;
}

static char *path(const char *name) {
    char *text;
    if (asprintf(&text, "%s/%s", dir, name) < 0) abort();
    return text;
}

static void look(int fd) {
    char text[16] = "";
    if (fd < 0) return;
    if (read(fd, text, sizeof text - 1) > 0 && !strncmp(text, "TOPSECRET", 9)) leaks++;
    close(fd);
}

static void touch(const char *name) {
    int fd = open(name, O_CREAT | O_WRONLY, 0600);
    if (fd >= 0) close(fd);
}

// In a process of its own: swaps what names lead to, until it is killed.
static pid_t swapper(void (*swap)(void)) {
    pid_t pid = fork();
    if (pid) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;; ++*flips) swap();
}

static char *link_name, *link_a, *link_b, *spare;
static void swap_links(void) {
    unlink(spare);
    if (symlink(link_a, spare) == 0) rename(spare, link_name);
    unlink(spare);
    if (symlink(link_b, spare) == 0) rename(spare, link_name);
}

static char *swap_x, *swap_y;
static void swap_names(void) { syscall(SYS_renameat2, AT_FDCWD, swap_x, AT_FDCWD, swap_y, 2 /* RENAME_EXCHANGE */); }

static char *deep, *shallow;
static void move_directory(void) {
    rename(deep, shallow);
    rename(shallow, deep);
}

static int fd_a, fd_b;
enum { TARGET = 100 };
static void *flip_descriptor(void *unused) {
    (void)unused;
    while (!*stop) {
        dup2(fd_a, TARGET);
        for (volatile int k = 0; k < 500; k++);
        dup2(fd_b, TARGET);
        for (volatile int k = 0; k < 500; k++);
        ++*flips;
    }
    return 0;
}

static char *directory_a, *directory_b;
static void *flip_directory(void *unused) {
    (void)unused;
    while (!*stop) {
        if (chdir(directory_a)) abort();
        for (volatile int k = 0; k < 500; k++);
        if (chdir(directory_b)) abort();
        for (volatile int k = 0; k < 500; k++);
        ++*flips;
    }
    return 0;
}

// Two pages that hold two paths, one after the other at the same place.
static char *page;
static void *flip_page(void *unused) {
    (void)unused;
    while (!*stop) {
        mmap(page, 4096, PROT_READ, MAP_SHARED | MAP_FIXED, fd_a, 0);
        for (volatile int k = 0; k < 500; k++);
        mmap(page, 4096, PROT_READ, MAP_SHARED | MAP_FIXED, fd_b, 0);
        for (volatile int k = 0; k < 500; k++);
        ++*flips;
    }
    return 0;
}

static int page_with(const char *text) {
    int fd = memfd_create("page", 0);
    if (ftruncate(fd, 4096) || pwrite(fd, text, strlen(text) + 1, 0) < 0) abort();
    return fd;
}

// Makes a file hold the withheld program and another one, in turns, without a new name or number.
static char *text_a, *text_b, *rewritten;
static size_t size_a, size_b;
static void write_whole(const char *text, size_t size) {
    int fd = open(rewritten, O_WRONLY | O_CREAT, 0700);
    if (fd < 0) return;  // ETXTBSY, and the like
    if (pwrite(fd, text, size, 0) < 0 || ftruncate(fd, size)) abort();
    close(fd);
}

static void rewrite(void) {
    static unsigned seed = 1;
    write_whole(text_a, size_a);
    for (volatile unsigned k = 0; k < (seed = seed * 1103515245 + 12345) % 400000; k++);
    write_whole(text_b, size_b);
    for (volatile unsigned k = 0; k < (seed = seed * 1103515245 + 12345) % 40000; k++);
}

static void run(char *program, char *const *argv, char *const *env) {
    pid_t pid = vfork();
    if (!pid) {
        execve(program, argv, env);
        _exit(1);
    }
    int status;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR);
}

int main(int argc, char **argv) {
    if (argc < 5) return 2;
    const char *mode = argv[1];
    double until = now() + atof(argv[2]);
    long most = argc > 6 ? atol(argv[6]) : 0;
    dir = argv[3];
    int by_process = !strcmp(argv[4], "process");
    shared = mmap(0, 16384, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    stop = (volatile int *)(shared + 8192);
    flips = (volatile long *)(shared + 12288);
    char *target = 0, *other = 0;
    void *(*flipper)(void *) = 0;
    pid_t helper = 0;
    struct open_how *how = (struct open_how *)(shared + 4096);
    struct sockaddr_un *address = (struct sockaddr_un *)(shared + 4096);
    struct sockaddr_in *internet = (struct sockaddr_in *)(shared + 4096);
    char *env[] = {(char *)"A=1", 0, 0};
    int is = 0;
#define MODE(name) (!strcmp(mode, name))

    if (MODE("read") || MODE("write") || MODE("truncating-open") || MODE("chmod") || MODE("truncate") || MODE("utimes"))
        target = flipping("work/file", "work", "shut"), flipper = flip_word;
    else if (MODE("create") || MODE("creat") || MODE("mkdir") || MODE("symlink") || MODE("link") || MODE("rename") || MODE("mknod"))
        target = flipping("work/new", "work", "shut"), flipper = flip_word, other = path("work/file");
    else if (MODE("unlink") || MODE("rename-away"))
        target = flipping("work/gone", "work", "shut"), flipper = flip_word;
    else if (MODE("rmdir"))
        target = flipping("work/dir", "work", "shut"), flipper = flip_word;
    else if (MODE("chdir"))
        directory_a = path("work"), directory_b = path("shut"), flipper = flip_directory;
    else if (MODE("mapping")) {
        fd_a = page_with(path("work/file")), fd_b = page_with(path("shut/file"));
        page = mmap(0, 4096, PROT_READ, MAP_SHARED, fd_a, 0);
        flipper = flip_page;
    } else if (MODE("hard-link")) {
        target = flipping("work/file", "work", "shut"), flipper = flip_word, other = path("work/linked");
    } else if (MODE("reopen")) {
        fd_a = open(path("work/file"), O_RDONLY), fd_b = open(path("only/file"), O_RDONLY);
        flipper = flip_descriptor;
    }
    else if (MODE("open_how")) {
        target = path("only/file");
        memset(how, 0, sizeof *how);
        word = (volatile uint32_t *)&how->flags;
        one = O_RDONLY, two = O_WRONLY | O_TRUNC;
        flipper = flip_word;
    } else if (MODE("open_how-path")) {
        target = path("shut/file");
        memset(how, 0, sizeof *how);
        word = (volatile uint32_t *)&how->flags;
        one = O_PATH, two = O_RDONLY;
        flipper = flip_word;
    } else if (MODE("connect") || MODE("sendmsg")) {
        // The path follows the family: two bytes, so the flipped word is found by what it holds.
        memset(address, 0, sizeof *address);
        address->sun_family = AF_UNIX;
        snprintf(address->sun_path, sizeof address->sun_path, "./work/sock");
        if (chdir(dir)) return 3;
        word = (volatile uint32_t *)(address->sun_path + 2);
        memcpy(&one, "work", 4), memcpy(&two, "shut", 4);
        flipper = flip_word;
    } else if (MODE("connect-tcp") || MODE("sendto-udp")) {
        // The four bytes of the address; the port is in work/port.
        FILE *file = fopen(path("work/port"), "r");
        unsigned port;
        if (!file || fscanf(file, "%u", &port) != 1) return 3;
        internet->sin_family = AF_INET, internet->sin_port = htons(port);
        word = (volatile uint32_t *)&internet->sin_addr.s_addr;
        one = htonl(0x7f000001), two = htonl(0x7f000002);
        *word = one;
        flipper = flip_word;
    } else if (MODE("symlink-swap") || MODE("symlink-swap-create")) {
        link_name = path("work/link"), link_a = path("work/file"), link_b = path("shut/file"), spare = path("work/spare");
        if (MODE("symlink-swap-create")) link_a = path("work/new"), link_b = path("shut/new");
        helper = swapper(swap_links);
    } else if (MODE("directory-swap") || MODE("directory-swap-unlink")) {
        swap_x = path("work/d"), swap_y = path("work/l");
        mkdir(swap_x, 0700);
        char *inside = path("work/d/file");
        touch(inside);
        // An attacker before this one may have left both names.
        if (symlink(path("shut"), swap_y) && errno != EEXIST) return 3;
        helper = swapper(swap_names);
    } else if (MODE("moved-cwd")) {
        deep = path("work/a/b/c"), shallow = path("work/c");
        mkdir(path("work/a"), 0700), mkdir(path("work/a/b"), 0700), mkdir(deep, 0700);
        mkdir(path("work/a/shut"), 0700), touch(path("work/a/shut/file"));
        if (chdir(deep)) return 3;
        helper = swapper(move_directory);
    } else if (MODE("dirfd") || MODE("proc-fd")) {
        int directory = MODE("dirfd");
        fd_a = open(path(directory ? "work" : "work/file"), O_PATH);
        fd_b = open(path(directory ? "shut" : "shut/file"), O_PATH);
        flipper = flip_descriptor;
    } else if (MODE("exec")) {
        target = flipping("okay/prog", "okay", "hide"), flipper = flip_word;
    } else if (MODE("argv")) {
        target = path("okay/show");
        other = shared + 64;
        strcpy(other, "aaaa");
        word = (volatile uint32_t *)other;
        memcpy(&one, "aaaa", 4), memcpy(&two, "bbbb", 4);
        flipper = flip_word;
    } else if (MODE("environment")) {
        target = path("okay/prog");
        env[1] = shared + 60;
        strcpy(env[1], "ENV=aaaa");
        word = (volatile uint32_t *)(env[1] + 4);
        memcpy(&one, "aaaa", 4), memcpy(&two, "bbbb", 4);
        flipper = flip_word;
    } else if (MODE("exec-symlink") || MODE("interpreter") || MODE("loader")) {
        link_name = path("work/prog"), link_a = path("okay/prog"), link_b = path("hide/prog"), spare = path("work/spare");
        if (MODE("loader")) link_a = argc > 5 ? argv[5] : 0;
        swap_links();
        target = MODE("exec-symlink") ? link_name : path(MODE("loader") ? "okay/loaded" : "okay/script");
        helper = swapper(swap_links);
    } else if (MODE("copy") || MODE("copy-grown")) {
        int fd = open(path("hide/prog"), O_RDONLY);
        struct stat stat;
        if (fd < 0 || fstat(fd, &stat)) return 3;
        size_b = size_a = stat.st_size;
        text_b = malloc(size_b), text_a = malloc(size_a + 1);
        if (read(fd, text_b, size_b) != (ssize_t)size_b) return 3;
        close(fd);
        memcpy(text_a, text_b, size_a);
        char *mark = memmem(text_a, size_a, "escaped", 7);
        if (!mark) return 3;
        memcpy(mark, "harmles", 7);
        text_a[size_a] = 0, size_a += MODE("copy-grown");
        target = rewritten = path("work/prog");
        helper = swapper(rewrite);
    } else
        return 2;

    pthread_t thread;
    if (flipper && by_process && !(helper = fork())) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        flipper(0);
        _exit(0);
    }
    if (flipper && !by_process) pthread_create(&thread, 0, flipper, 0);

    char *run_argv[] = {(char *)"prog", other ? other : 0, 0};
    while (now() < until && (!most || attempts < most || *flips < most)) {
        attempts++;
        is = 0;
        if (MODE("read")) look(open(target, O_RDONLY));
        else if (MODE("write")) { if ((is = open(target, O_WRONLY)) >= 0) { if (write(is, "X", 1) < 0) abort(); close(is); } }
        else if (MODE("rmdir")) { mkdir(path("work/dir"), 0700); rmdir(target); }
        else if (MODE("chdir")) look(open("file", O_RDONLY));
        else if (MODE("mapping")) look(open(page, O_RDONLY));
        else if (MODE("hard-link")) { if (link(target, other) == 0) look(open(other, O_RDONLY)), unlink(other); }
        else if (MODE("reopen")) { if ((is = open("/proc/self/fd/100", O_WRONLY | O_TRUNC)) >= 0) close(is); }
        else if (MODE("truncating-open")) { if ((is = open(target, O_WRONLY | O_TRUNC)) >= 0) close(is); }
        else if (MODE("chmod")) chmod(target, 0640);
        else if (MODE("utimes")) { struct timespec t[2] = {{1, 0}, {1, 0}}; utimensat(AT_FDCWD, target, t, 0); }
        else if (MODE("truncate")) is = truncate(target, 0);
        else if (MODE("create")) { if ((is = open(target, O_CREAT | O_WRONLY, 0600)) >= 0) close(is), unlink(path("work/new")); }
        else if (MODE("creat")) { if ((is = creat(target, 0600)) >= 0) close(is), unlink(path("work/new")); }
        else if (MODE("mkdir")) { if (mkdir(target, 0700) == 0) rmdir(path("work/new")); }
        else if (MODE("mknod")) { if (mknod(target, S_IFIFO | 0600, 0) == 0) unlink(path("work/new")); }
        else if (MODE("symlink")) { if (symlink("x", target) == 0) unlink(path("work/new")); }
        else if (MODE("link")) { if (link(other, target) == 0) unlink(path("work/new")); }
        else if (MODE("rename")) { touch(other); rename(other, target); }
        else if (MODE("unlink")) { touch(path("work/gone")); unlink(target); }
        else if (MODE("rename-away")) { touch(path("work/gone")); rename(target, path("work/taken")); }
        else if (MODE("open_how") || MODE("open_how-path")) {
            int fd = syscall(SYS_openat2, AT_FDCWD, target, how, sizeof *how);
            if (MODE("open_how-path")) look(fd); else if (fd >= 0) close(fd);
        } else if (MODE("connect")) {
            int fd = socket(AF_UNIX, SOCK_STREAM, 0);
            connect(fd, (struct sockaddr *)address, sizeof *address);
            close(fd);
        } else if (MODE("sendmsg")) {
            struct iovec text = {(void *)"x", 1};
            struct msghdr message = {address, sizeof *address, &text, 1, 0, 0, 0};
            int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
            sendmsg(fd, &message, MSG_DONTWAIT);
            close(fd);
        } else if (MODE("sendto-udp")) {
            int fd = socket(AF_INET, SOCK_DGRAM, 0);
            sendto(fd, "x", 1, MSG_DONTWAIT, (struct sockaddr *)internet, sizeof *internet);
            close(fd);
        } else if (MODE("connect-tcp")) {
            struct linger at_once = {1, 0};
            int fd = socket(AF_INET, SOCK_STREAM, 0);
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
            connect(fd, (struct sockaddr *)internet, sizeof *internet);
            close(fd);
        } else if (MODE("symlink-swap")) look(open(link_name, O_RDONLY));
        else if (MODE("symlink-swap-create")) { if ((is = open(link_name, O_CREAT | O_WRONLY, 0600)) >= 0) close(is), unlink(path("work/new")); }
        else if (MODE("directory-swap")) look(open(path("work/d/file"), O_RDONLY));
        else if (MODE("directory-swap-unlink")) { touch(path("work/d/file")); unlink(path("work/d/file")); }
        else if (MODE("moved-cwd")) look(open("../../shut/file", O_RDONLY));
        else if (MODE("dirfd")) look(openat(TARGET, "file", O_RDONLY));
        else if (MODE("proc-fd")) look(open("/proc/self/fd/100", O_RDONLY));
        else run(target, run_argv, env);
    }
    *stop = 1;
    if (helper > 0) kill(helper, SIGKILL), waitpid(helper, 0, 0);
    printf("attempts %ld leaks %ld\n", attempts, leaks);
    return 0;
}
