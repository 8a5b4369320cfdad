// Makes system calls with closed files in every argument: `sweep NUMBER`, or `sweep all` for those of the file `calls`.
//
// The tries of a call are made in a process of their own, in a group of its own, which goes on in another one where a try
// ended it or takes too long. What is opened is shown.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HERE = -100 };
static char secret[4096], program[4096], closed[4096], kept[4096], fresh[4096];
static char nothing[8192], name[16], mine[16], empty[16];
static int secret_path, closed_path, program_path;

// Again before each try: the one before may have written over them.
static void names(void) {
    snprintf(secret, sizeof secret, "%s", getenv("S"));
    snprintf(program, sizeof program, "%s", getenv("P"));
    snprintf(kept, sizeof kept, "%s", getenv("O"));
    snprintf(closed, sizeof closed, "%s/shut", getenv("R"));
    snprintf(fresh, sizeof fresh, "%s/shut/new", getenv("R"));
    strcpy(name, "file"), strcpy(mine, "work/made"), *empty = 0;
    memset(nothing, 0, sizeof nothing);
}

static void look(long result) {
    char text[256];
    if (result < 3 || result > 64) return;
    fcntl(result, F_SETFL, O_NONBLOCK);
    ssize_t length = pread(result, text, sizeof text, 0);
    if (length <= 0) length = read(result, text, sizeof text);
    if (length > 0 && write(1, text, length) < 0) return;
    int inside = openat(result, name, O_RDONLY);
    if (inside >= 0 && (length = read(inside, text, sizeof text)) > 0 && write(1, text, length) < 0) return;
}

// With what is closed.
static int arguments(unsigned form, long a[6]) {
    static const long flags[] = {0, O_WRONLY, O_CREAT | O_WRONLY | O_TRUNC, 0x1000};
    char *paths[] = {secret, closed, program, kept, fresh};
    unsigned flag = form % 4, rest = form / 4;
    for (int i = 0; i < 6; i++) a[i] = flags[flag];
    if (rest < 25) { // A path in one of the first five, and flags.
        a[rest / 5] = (long)paths[rest % 5];
        return 1;
    }
    rest -= 25;
    if (rest < 20) { // The same, with memory behind it.
        int at = rest / 5;
        a[at] = (long)paths[rest % 5];
        if (flag & 1) a[at + 1] = (long)mine; else a[at + 1] = (long)nothing;
        a[at + 2] = flag & 2 ? 24 : 0, a[at + 3 < 6 ? at + 3 : 5] = 24;
        return 1;
    }
    rest -= 20;
    if (rest < 15) { // Beside AT_FDCWD, with flags or memory behind.
        int at = rest / 5;
        a[at] = HERE, a[at + 1] = (long)paths[rest % 5];
        if (flag == 2) a[at + 2] = O_CREAT | O_WRONLY, a[at + 3] = 0600;
        if (flag == 3) a[at + 2] = (long)nothing, a[at + 3] = 24, a[at + 4 < 6 ? at + 4 : 5] = 0;
        return 1;
    }
    rest -= 15;
    if (rest < 6) { // A name in a directory.
        int at = rest % 3;
        a[at] = closed_path, a[at + 1] = (long)(rest < 3 ? name : mine);
        if (flag == 3) a[at + 2] = (long)nothing, a[at + 3] = 24;
        return 1;
    }
    rest -= 6;
    if (rest < 9) { // A descriptor, alone or with an empty name.
        int descriptors[] = {secret_path, closed_path, program_path}, at = rest / 3;
        a[at] = descriptors[rest % 3];
        if (flag & 1) a[at + 1] = (long)empty;
        if (flag & 2) a[at + 2] = (long)nothing;
        if (flag == 1) for (int i = at + 2; i < 6; i++) a[i] = i == at + 2 || i == at + 3 ? 0 : 0x1000;
        if (flag == 3) a[at + 1] = (long)nothing, a[at + 2] = 64;
        return 1;
    }
    rest -= 9;
    if (rest < 4) { // A file of one's own and a closed one, both ways; beside directories too.
        static char ours[] = "work/file";
        char *one = rest & 1 ? ours : secret, *two = rest & 1 ? kept : mine;
        long direct[] = {(long)one, (long)two, 0, 0, 0, 0};
        long beside[] = {HERE, (long)one, HERE, (long)two, flag == 3 ? 2 : 0, 0};
        memcpy(a, rest & 2 ? beside : direct, sizeof direct);
        return 1;
    }
    return 0;
}

// Fills in the arguments of one try, by its number. Returns 0 behind the last.
typedef int (*forms)(unsigned form, long a[6]);

static pid_t own;

// The number of a process that sleeps, and one that is nobody's. Never -1 or 0, which mean all or many.
static int named(unsigned form, long a[6]) {
    long who = form % 2 ? 0x7ffffff0 : own;
    const long all[][6] = {
        {who, 0, 0, 0, 0, 0}, {who, who, 0, 0, 0, 0}, {who, (long)nothing, 24, (long)nothing, 0, 0},
        {who, 0, (long)nothing, (long)nothing, 0, 0}, {who, 24, (long)nothing, (long)nothing, (long)nothing, 0},
    };
    if (form / 2 >= sizeof all / sizeof *all) return 0;
    memcpy(a, all[form / 2], sizeof *all);
    return 1;
}

// The latter alone, for what has numbers of its own: those of others may be any.
static int nobody(unsigned form, long a[6]) { return named(2 * form + 1, a); }

static volatile unsigned *begun; // Which try was begun last, counted from 1; -1 behind the last.

static void tries(long number, forms form) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    struct rlimit few = {0, 0}, small = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_CORE, &few);
    setrlimit(RLIMIT_FSIZE, &small);
    long a[6];
    for (unsigned next = *begun; form(next, a); next++) {
        *begun = next + 1;
        names();
        look(syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]));
        syscall(SYS_close_range, closed_path + 1, ~0U, 0);
    }
    *begun = -1;
    _exit(0);
}

static void sweep(long number, forms form) {
    struct timespec pause = {0, 500000};
    for (*begun = 0; *begun != -1U;) {
        unsigned before = *begun, idle = 0;
        pid_t child = fork();
        if (!child) tries(number, form);
        while (waitpid(child, 0, WNOHANG) == 0) {
            idle = before == *begun ? idle + 1 : 0, before = *begun;
            if (idle > 200) kill(child, SIGKILL);
            nanosleep(&pause, 0);
        }
    }
}

int main(int argc, char **argv) {
    names();
    if (chdir(getenv("R"))) return 1;
    program_path = open(program, O_PATH), secret_path = open(secret, O_PATH), closed_path = open(closed, O_PATH);
    // What stands for a descriptor of 0 is a file of the arena: on /dev/null a call could do harm to the machine.
    if (dup2(open("work/file", O_RDONLY), 0) != 0) return 1;
    begun = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (strcmp(argv[1], "all")) {
        sweep(atol(argv[1]), arguments);
        return 0;
    }
    own = fork();
    if (!own) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setpgid(0, 0);
        for (;;) pause();
    }
    long number;
    char how[16];
    int swept = 0;
    FILE *list = fopen("work/calls", "r");
    while (list && fscanf(list, "%ld %15s", &number, how) == 2) {
        sweep(number, !strcmp(how, "free") ? arguments : !strcmp(how, "named") ? named : nobody);
        swept++;
    }
    kill(own, SIGKILL);
    printf("swept %d calls\n", swept);
    return 0;
}
