// Plays sequences of system calls and prints one line for each call: what it returned, and what it read. Up to three
// actors take turns in one sequence: a process, a second thread of it, and another process.
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 64, ARGS = 6, ACTORS = 3, OURS = 700, TEXT = 1 << 16, SHOWN = 16, SECONDS = 30 };
// Calls that are more than one system call; Rust knows them by these numbers (calls.rs).
enum { ENTRIES = -1, SEND = -2, RECEIVE = -3, NAME = -4 };

struct arg { char kind; long value; char *text; };
struct step { int actor; long number; int count; struct arg args[ARGS]; };

static struct step steps[STEPS];
static int count, turns[ACTORS][2], channel[2], standard;
static char *root, *text;
static size_t *used;

static void die(const char *what) {
    fprintf(stderr, "player: %s: %s\n", what, strerror(errno));
    _exit(9);
}

static void say(const char *format, ...) {
    va_list list;
    va_start(list, format);
    *used += vsnprintf(text + *used, *used < TEXT ? TEXT - *used : 0, format, list);
    va_end(list);
    if (*used >= TEXT) die("too much to say");
}

static void say_bytes(const char *bytes, long length) {
    say(" \"");
    for (long i = 0; i < length; i++) {
        if (isprint((unsigned char)bytes[i]) && bytes[i] != '"' && bytes[i] != '\\') say("%c", bytes[i]);
        else say("\\x%02x", (unsigned char)bytes[i]);
    }
    say("\"");
}

// Bytes whose end is the end of readable memory.
static char *at_page_end(const char *bytes, size_t length) {
    char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + 2 * 4096, 4096, PROT_NONE)) die("page end");
    return memcpy(pages + 2 * 4096 - length, bytes, length);
}

static char *unhex(const char *hex, size_t *length) {
    *length = strlen(hex) / 2;
    char *bytes = calloc(1, *length + 1);
    for (size_t i = 0; i < *length; i++) {
        unsigned byte;
        sscanf(hex + 2 * i, "%2x", &byte);
        bytes[i] = (char)byte;
    }
    return bytes;
}

static int compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static long entries(int fd) {
    char buffer[8192], *names[256];
    int n = 0;
    long got, total = 0;
    if (lseek(fd, 0, SEEK_SET) && errno != ESPIPE) return -1;
    while ((got = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0)
        for (long at = 0; at < got; total++) {
            struct dirent64 *entry = (void *)(buffer + at);
            if (n < 256) names[n++] = strdup(entry->d_name);
            at += entry->d_reclen;
        }
    if (got < 0) return -1;
    qsort(names, n, sizeof *names, compare);
    for (int i = 0; i < n; i++) say_bytes(names[i], strlen(names[i])), free(names[i]);
    return total;
}

static long pass(int actor, int fd, int receives) {
    union { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; } control = {0};
    char byte = 'x';
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    int end = channel[actor == 1];
    if (receives) {
        long got = recvmsg(end, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        if (got < 0 || !header) return got;
        memcpy(&fd, CMSG_DATA(header), sizeof fd);
        return fd;
    }
    control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd)};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    return sendmsg(end, &message, MSG_DONTWAIT);
}

static long socket_name(int fd) {
    struct sockaddr_un address = {0};
    socklen_t length = sizeof address;
    long result = getsockname(fd, (void *)&address, &length);
    if (!result) say(" length %u", length), say_bytes(address.sun_path, length > 2 ? length - 2 : 0);
    return result;
}

static void say_time(int mode, long second, long nano) {
    // What was set, and not the time of day; of a socket without a name it means nothing.
    if (S_ISSOCK(mode)) return;
    if (second < 1000000000) say(" %ld.%09ld", second, nano);
    else say(" now");
}

static void say_stat(const struct stat *s) {
    say(" mode %o owner %d:%d", s->st_mode, s->st_uid, s->st_gid);
    if (!S_ISDIR(s->st_mode)) say(" size %ld links %ld", (long)s->st_size, (long)s->st_nlink);
    say_time(s->st_mode, s->st_mtim.tv_sec, s->st_mtim.tv_nsec);
}

static void say_statx(const struct statx *s) {
    say(" mode %o owner %d:%d attributes %llx", s->stx_mode, s->stx_uid, s->stx_gid, (unsigned long long)s->stx_attributes);
    if (!S_ISDIR(s->stx_mode)) say(" size %llu links %u", (unsigned long long)s->stx_size, s->stx_nlink);
    say_time(s->stx_mode, s->stx_mtime.tv_sec, s->stx_mtime.tv_nsec);
}

// A sequence stays far below the directory that holds it: what it changes further up would be the machine's.
static void stay_inside(void) {
    char link[64], path[4200], far[4200];
    snprintf(far, sizeof far, "%s/_/_/_/_", root);
    for (int fd = -1; fd < SHOWN; fd++) {
        if (fd < 0) strcpy(link, "/proc/thread-self/cwd");
        else snprintf(link, sizeof link, "/proc/thread-self/fd/%d", fd);
        long length = readlink(link, path, sizeof path - 1);
        struct stat s;
        if (length <= 0 || path[0] != '/') continue;
        path[length] = 0;
        if (!strncmp(path, far, strlen(far)) || stat(link, &s) || !S_ISDIR(s.st_mode)) continue;
        fprintf(stderr, "player: descriptor %d has come to %s\n", fd, path);
        _exit(8);
    }
}

static void play(int index) {
    struct step *step = &steps[index];
    long words[ARGS] = {0};
    char *outputs[ARGS] = {0};
    for (int i = 0; i < step->count; i++) {
        struct arg *arg = &step->args[i];
        words[i] = strchr("otx", arg->kind) ? (long)(outputs[i] = calloc(1, 8192)) : arg->text ? (long)arg->text : arg->value;
    }
    size_t start = *used;
    say("                                        ");
    errno = 0;
    long result;
    switch (step->number) {
    case ENTRIES: result = entries(words[0]); break;
    case SEND: result = pass(step->actor, words[0], 0); break;
    case RECEIVE: result = pass(step->actor, -1, 1); break;
    case NAME: result = socket_name(words[0]); break;
    default: result = syscall(step->number, words[0], words[1], words[2], words[3], words[4], words[5]);
    }
    int error = errno;
    char head[64];
    int length = snprintf(head, sizeof head, "= %ld %s", result, result < 0 ? strerrorname_np(error) : "");
    memcpy(text + start, head, length);
    for (int i = 0; i < step->count && result >= 0; i++) {
        switch (step->args[i].kind) {
        case 'o': say_bytes(outputs[i], result); break;
        case 't': say_stat((void *)outputs[i]); break;
        case 'x': say_statx((void *)outputs[i]); break;
        }
    }
    say("\n");
    for (int i = 0; i < step->count; i++) free(outputs[i]);
    stay_inside();
}

static void *act(void *who) {
    int actor = (int)(long)who;
    for (int i = 0; i < count; i++) {
        char turn = 't';
        if (steps[i].actor != actor) continue;
        if (read(turns[actor][0], &turn, 1) != 1) return NULL;
        play(i);
        if (i + 1 < count && write(turns[steps[i + 1].actor][1], &turn, 1) != 1) die("turn");
    }
    return NULL;
}

static int high(int fd) {
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, OURS);
    if (moved < 0) die("descriptors");
    close(fd);
    return moved;
}

static void start_actor(int actor) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Standard descriptors are files of the sequence too: it changes them.
    for (int to = 0; to < 3; to++)
        if (dup2(standard, to) < 0) die("std");
    // No other descriptors, whatever this process was started with.
    close_range(3, OURS - 1, 0);
    umask(022);
    pthread_t thread;
    if (actor == 0 && pthread_create(&thread, NULL, act, (void *)2L)) die("thread");
    act((void *)(long)actor);
    if (actor == 0) pthread_join(thread, NULL);
    _exit(0);
}

static void hung(int signal) {
    (void)signal;
    (void)!write(2, text, *used), _exit(7);
}

static void play_all(void) {
    int second = 0;
    for (int i = 0; i < count; i++) second |= steps[i].actor == 1;
    *used = 0;
    for (int i = 0; i < ACTORS; i++) {
        if (pipe2(turns[i], O_CLOEXEC)) die("pipe");
        turns[i][0] = high(turns[i][0]), turns[i][1] = high(turns[i][1]);
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel)) die("socketpair");
    channel[0] = high(channel[0]), channel[1] = high(channel[1]);
    if (chdir(root) || chdir("_/_/_/_/_/_/_/_/_/_/_/_/w")) die(root);
    standard = high(open("std", O_RDWR));
    if (count && write(turns[steps[0].actor][1], "t", 1) != 1) die("turn");
    pid_t pids[2] = {0, 0};
    for (int actor = 0; actor <= second; actor++) {
        pids[actor] = fork();
        if (!pids[actor]) start_actor(actor);
    }
    // What is said so far shows which call never returned.
    signal(SIGALRM, hung), alarm(SECONDS);
    int status, bad = 0;
    for (int actor = 0; actor <= second; actor++) {
        pid_t ended = wait(&status);
        if (status) {
            bad = status;
            kill(pids[ended == pids[0]], SIGKILL);
        }
    }
    alarm(0);
    printf("pids %d %d\n%s", pids[0], pids[1], *used ? text : "");
    printf("end %d\n", bad);
    fflush(stdout);
    for (int i = 0; i < ACTORS; i++) close(turns[i][0]), close(turns[i][1]);
    close(channel[0]), close(channel[1]), close(standard);
}

static void read_step(char *line) {
    struct step *step = &steps[count++];
    if (count > STEPS) die("too many steps");
    char *rest, *word = strtok_r(line, " ", &rest);
    step->actor = atoi(word), step->number = atol(strtok_r(NULL, " ", &rest)), step->count = 0;
    while ((word = strtok_r(NULL, " ", &rest))) {
        struct arg *arg = &step->args[step->count++];
        *arg = (struct arg){.kind = *word};
        size_t length;
        if (*word == 'i') arg->value = atol(word + 1);
        else if (strchr("sb", *word)) arg->text = unhex(word + 1, &length);
        else if (*word == 'e') {
            char *bytes = unhex(word + 1, &length);
            arg->text = at_page_end(bytes, length + 1);
            free(bytes);
        }
    }
}

int main(int argc, char **argv) {
    FILE *file = argc > 1 ? fopen(argv[1], "re") : NULL;
    if (!file) die("no sequences");
    signal(SIGPIPE, SIG_IGN);
    text = mmap(NULL, TEXT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    used = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    static char line[1 << 17];
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if (*line == '/') free(root), root = strdup(line), count = 0;
        else if (*line == '.') play_all();
        else read_step(line);
    }
    return 0;
}
