// Calls that wait, and what happens to whoever waits. With the name of one scenario, in an empty directory; it prints
// the same natively and guarded.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int tell[2];
static atomic_int signals, done, bad;

static void must(int is, const char *what) {
    if (!is) perror(what), exit(9);
}

static void say(const char *what, long result) {
    printf("%s: %s\n", what, result < 0 ? strerrorname_np(errno) : "done");
    fflush(stdout);
}

static pid_t child(void (*act)(void)) {
    fflush(stdout);
    pid_t pid = fork();
    must(pid >= 0, "fork");
    if (pid) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    act();
    fflush(stdout);
    _exit(0);
}

static void on_signal(int number) {
    (void)number;
    int error = errno;
    // At the third, whoever waits for this goes on.
    if (atomic_fetch_add(&signals, 1) == 2) (void)!write(tell[1], "x", 1);
    errno = error;
}

static void handle(int number, int flags) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
    must(!sigaction(number, &action, NULL), "sigaction");
}

static void every(long micros) {
    struct itimerval timer = {{0, micros}, {0, micros}};
    must(!setitimer(ITIMER_REAL, &timer, NULL), "setitimer");
}

static void wait_told(void) {
    char byte;
    while (read(tell[0], &byte, 1) < 0) must(errno == EINTR, "read");
}

// Until a process is in the call that it has announced, as good as surely: what is signalled earlier ends the same.
static void until_asleep(void) {
    wait_told();
    usleep(120000);
}

static void open_read(void) {
    (void)!write(tell[1], "x", 1);
    int fd = open("p", O_RDONLY);
    say("opened in the child", fd);
}

static void open_late(void) {
    wait_told();
    int fd = open("p", O_WRONLY);
    (void)!write(fd, "late", 4);
}

static void fifo(void) {
    must(!mkfifo("p", 0600), "mkfifo");
    say("write end alone", open("p", O_WRONLY | O_NONBLOCK));
    int fd = open("p", O_RDONLY | O_NONBLOCK);
    say("read end alone", fd);
    close(fd);
    pid_t pid = child(open_late);
    (void)!write(tell[1], "x", 1);
    char text[9] = "";
    fd = open("p", O_RDONLY);
    say("both ends", fd);
    long got = 0, part;
    while ((part = read(fd, text + got, 8 - got)) > 0) got += part;
    printf("%s, then the end\n", text);
    waitpid(pid, NULL, 0);
    close(fd);
    // Created where it is, and through a descriptor.
    fd = open("p", O_RDWR | O_CREAT, 0600);
    say("both in one", fd);
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    say("again by its descriptor", open(link, O_WRONLY));
}

static void interrupted(void) {
    must(!mkfifo("p", 0600), "mkfifo");
    handle(SIGALRM, 0), every(20000);
    say("open", open("p", O_RDONLY));
    say("creat", creat("p", 0600));
    char absolute[4096];
    must(getcwd(absolute, sizeof absolute - 2) != NULL, "getcwd");
    strcat(absolute, "/p");
    say("absolute", open(absolute, O_WRONLY));
    every(0);
    printf("handled: %d\n", signals >= 3);
}

static void restarted(void) {
    must(!mkfifo("p", 0600), "mkfifo");
    handle(SIGALRM, SA_RESTART);
    pid_t pid = child(open_late);
    every(20000);
    int fd = open("p", O_RDONLY);
    every(0);
    say("open", fd);
    printf("handled: %d\n", signals >= 3);
    waitpid(pid, NULL, 0);
}

static void *open_in_thread(void *unused) {
    (void)unused;
    (void)!write(tell[1], "x", 1);
    int fd = open("p", O_RDONLY);
    say("open in a thread", fd);
    atomic_store(&done, 1);
    return NULL;
}

static void thread_interrupted(void) {
    must(!mkfifo("p", 0600), "mkfifo");
    handle(SIGUSR1, 0);
    pthread_t thread;
    must(!pthread_create(&thread, NULL, open_in_thread, NULL), "thread");
    wait_told();
    // One signal may come before the call.
    while (!atomic_load(&done)) pthread_kill(thread, SIGUSR1), usleep(20000);
    pthread_join(thread, NULL);
}

// To the process, whose first thread does not take it: another thread is the only one that can.
static void process_interrupted(void) {
    must(!mkfifo("p", 0600), "mkfifo");
    handle(SIGUSR1, 0);
    pthread_t thread;
    must(!pthread_create(&thread, NULL, open_in_thread, NULL), "thread");
    wait_told();
    sigset_t set;
    sigemptyset(&set), sigaddset(&set, SIGUSR1), pthread_sigmask(SIG_BLOCK, &set, NULL);
    while (!atomic_load(&done)) kill(getpid(), SIGUSR1), usleep(20000);
    pthread_join(thread, NULL);
}

static void blocked(void) {
    must(!mkfifo("p", 0600), "mkfifo");
    handle(SIGALRM, 0);
    sigset_t set;
    sigemptyset(&set), sigaddset(&set, SIGALRM), sigprocmask(SIG_BLOCK, &set, NULL);
    every(20000);
    pid_t pid = child(open_late);
    usleep(150000), (void)!write(tell[1], "x", 1);
    int fd = open("p", O_RDONLY);
    say("open with the signal blocked", fd);
    printf("handled: %d\n", signals);
    waitpid(pid, NULL, 0);
}

static void ended_by(int number) {
    int status;
    pid_t pid = child(open_read);
    until_asleep();
    kill(pid, number);
    must(waitpid(pid, &status, 0) == pid, "waitpid");
    printf("signal %d: %s %d\n", number, WIFSIGNALED(status) ? "killed by" : "status", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void killed(void) {
    must(!mkfifo("p", 0600), "mkfifo");
    ended_by(SIGKILL), ended_by(SIGTERM), ended_by(SIGQUIT), ended_by(SIGABRT);
}

static void stop_and_go(pid_t pid, int number) {
    int status;
    until_asleep();
    kill(pid, number);
    must(waitpid(pid, &status, WUNTRACED) == pid, "waitpid");
    printf("stopped %d by %d\n", WIFSTOPPED(status), WIFSTOPPED(status) ? WSTOPSIG(status) : 0);
    kill(pid, SIGCONT);
    must(waitpid(pid, &status, WCONTINUED) == pid, "waitpid");
    printf("goes on: %d\n", WIFCONTINUED(status));
    int fd = open("p", O_WRONLY);
    must(waitpid(pid, &status, 0) == pid, "waitpid");
    printf("the other end: %d, status %d\n", fd >= 0, status);
    close(fd);
}

static void open_beside(void) {
    pthread_t thread;
    must(!pthread_create(&thread, NULL, open_in_thread, NULL), "thread");
    pthread_join(thread, NULL);
}

static void stopped(void) {
    must(!mkfifo("p", 0600), "mkfifo");
    stop_and_go(child(open_read), SIGSTOP);
    // An orphaned group ignores it otherwise.
    stop_and_go(child(open_read), SIGTSTP);
    stop_and_go(child(open_beside), SIGSTOP);
}

static void *pester(void *target) {
    while (!atomic_load(&done)) pthread_kill(*(pthread_t *)target, SIGUSR1), usleep(20);
    return NULL;
}

// A call that is begun again must not find what it made itself: a runtime that preempts its threads by signals.
static void pestered(void) {
    handle(SIGUSR1, SA_RESTART);
    pthread_t self = pthread_self(), thread;
    must(!pthread_create(&thread, NULL, pester, &self), "thread");
    enum { ROUNDS = 1500, SECONDS = 30 };
    // On a busy machine the guard hardly has its turn between two signals.
    const time_t end = time(NULL) + SECONDS;
    for (int i = 0; (signals <= 100 || (i < ROUNDS && time(NULL) < end)) && !bad; i++) {
        struct stat s;
        int fd = open("new", O_CREAT | O_EXCL | O_WRONLY, 0600);
        if (fd < 0) say("open", fd), bad = 1;
        if (close(fd)) say("close", -1), bad = 1;
        if (rename("new", "other")) say("rename", -1), bad = 1;
        if (link("other", "third")) say("link", -1), bad = 1;
        if (unlink("other") || unlink("third")) say("unlink", -1), bad = 1;
        if (mkdir("d", 0700) || symlink("x", "d/l")) say("mkdir", -1), bad = 1;
        if (unlink("d/l") || rmdir("d") || !stat("d", &s)) say("rmdir", -1), bad = 1;
    }
    atomic_store(&done, 1);
    pthread_join(thread, NULL);
    printf("without a false error: %d, pestered: %d\n", !bad, signals > 100);
}

static void lease_opener(void) {
    wait_told();
    say("at once", open("f", O_WRONLY | O_NONBLOCK));
    // Waits until the holder has given it up.
    int fd = open("f", O_WRONLY);
    (void)!write(tell[1], "x", 1);
    say("to write", fd);
    say("to cut", truncate("f", 1));
}

// A lease makes whoever opens the file wait until its holder has given it up.
static void lease(void) {
    int made = open("f", O_CREAT | O_WRONLY, 0600), fd;
    (void)!write(made, "leased", 6), close(made);
    handle(SIGIO, SA_RESTART);
    fd = open("f", O_RDONLY);
    sigset_t set, old;
    sigemptyset(&set), sigaddset(&set, SIGIO), sigprocmask(SIG_BLOCK, &set, &old);
    say("lease", fcntl(fd, F_SETLEASE, F_RDLCK));
    printf("held: %d\n", fcntl(fd, F_GETLEASE) == F_RDLCK);
    pid_t pid = child(lease_opener);
    (void)!write(tell[1], "x", 1);
    while (!signals) sigsuspend(&old);
    int broken = fcntl(fd, F_GETLEASE) == F_UNLCK;
    usleep(150000);
    // It is not open yet: else this would be told.
    fcntl(tell[0], F_SETFL, O_NONBLOCK);
    char byte;
    int waits = read(tell[0], &byte, 1) < 0;
    int given = fcntl(fd, F_SETLEASE, F_UNLCK), status;
    must(waitpid(pid, &status, 0) == pid, "waitpid");
    printf("broken: %d, the other waits: %d, given up: %d, its status: %d\n", broken, waits, given, status);
    // Nobody else has it open, natively or in the guard.
    for (int i = 0; i < 50; i++) {
        int reader = open("f", O_RDONLY);
        close(reader);
        int only = open("f", O_RDWR);
        if (fcntl(only, F_SETLEASE, F_WRLCK)) say("write lease", -1);
        close(only);
    }
}

// A lock that belongs to an open file is free again when that is closed.
static void locks(void) {
    close(open("f", O_CREAT | O_WRONLY, 0600));
    int held[3] = {0};
    for (int i = 0; i < 3000; i++) {
        int fd = open("f", O_RDONLY);
        held[0] += flock(fd, LOCK_EX | LOCK_NB) != 0;
        close(fd), fd = open("f", O_RDONLY);
        held[1] += fcntl(fd, F_OFD_SETLK, &(struct flock){.l_type = F_RDLCK}) != 0;
        close(fd), fd = open("f", O_RDWR);
        held[2] += fcntl(fd, F_SETLEASE, F_WRLCK) != 0;
        held[1] += fcntl(fd, F_OFD_SETLK, &(struct flock){.l_type = F_WRLCK}) != 0;
        close(fd);
    }
    printf("still held: %d flock, %d OFD, %d lease\n", held[0], held[1], held[2]);
}

static void connect_late(void) {
    wait_told();
    usleep(150000);
    int server = 3;
    for (int i = 0; i < 3; i++) close(accept(server, NULL, NULL));
}

// connect(2) waits for room among those that wait.
static void sockets(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "s"};
    int server = socket(AF_UNIX, SOCK_STREAM, 0), clients[3];
    must(dup2(server, 3) == 3 && !bind(3, (void *)&address, sizeof address) && !listen(3, 0), "server");
    handle(SIGALRM, 0);
    for (int i = 0; i < 3; i++) clients[i] = socket(AF_UNIX, SOCK_STREAM | (i == 1 ? SOCK_NONBLOCK : 0), 0);
    say("first", connect(clients[0], (void *)&address, sizeof address));
    say("no room", connect(clients[1], (void *)&address, sizeof address));
    every(20000);
    say("interrupted", connect(clients[2], (void *)&address, sizeof address));
    every(0);
    pid_t pid = child(connect_late);
    (void)!write(tell[1], "x", 1);
    say("waited", connect(clients[2], (void *)&address, sizeof address));
    kill(pid, SIGKILL);
}

int main(int argc, char **argv) {
    static const struct { const char *name; void (*act)(void); } SCENARIOS[] = {
        {"fifo", fifo}, {"interrupted", interrupted}, {"restarted", restarted}, {"thread", thread_interrupted}, {"process", process_interrupted}, {"blocked", blocked},
        {"killed", killed}, {"stopped", stopped}, {"pestered", pestered}, {"lease", lease}, {"locks", locks}, {"sockets", sockets},
    };
    must(argc == 2 && !pipe2(tell, O_CLOEXEC), "pipe");
    // Out of the way of the scenarios' own numbers.
    for (int i = 0; i < 2; i++) {
        int moved = fcntl(tell[i], F_DUPFD_CLOEXEC, 100);
        close(tell[i]), tell[i] = moved;
    }
    for (size_t i = 0; i < sizeof SCENARIOS / sizeof *SCENARIOS; i++)
        if (!strcmp(argv[1], SCENARIOS[i].name)) return SCENARIOS[i].act(), 0;
    return 9;
}
