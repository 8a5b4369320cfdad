// Starts the program that may not run, from everywhere that a call can be made from: `exec MODE`.
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

static char *program;
static char *arguments[] = {"prog", 0};

static void start(void) { execve(program, arguments, 0); }

static void *in_thread(void *unused) {
    start();
    return unused;
}

static void thread(void) {
    pthread_t made;
    pthread_create(&made, 0, in_thread, 0);
    pthread_join(made, 0);
}

static void threads(void) {
    pthread_t made[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&made[i], 0, in_thread, 0);
    for (int i = 0; i < 8; i++)
        pthread_join(made[i], 0);
}

static void after_vfork(void) {
    if (!vfork()) {
        start();
        _exit(1);
    }
    wait(0);
}

static int in_child(void *unused) {
    start();
    _exit(1);
}

static void cloned(int flags) {
    char *stack = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    clone(in_child, stack + 65536, flags | SIGCHLD, 0);
    wait(0);
}

static void clone_vm(void) { cloned(CLONE_VM); }
static void clone_files(void) { cloned(CLONE_VM | CLONE_FILES | CLONE_SIGHAND | CLONE_SYSVSEM); }

static void by_clone3(void) {
    uint64_t how[8] = {[4] = SIGCHLD};
    long made = syscall(435, how, sizeof how);
    if (!made) {
        start();
        _exit(1);
    }
    wait(0);
}

static void by_fork(void) {
#ifdef SYS_fork
    long made = syscall(SYS_fork);
#else
    long made = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
    if (!made)
        start(), _exit(1);
    wait(0);
}

static void spawn(void) {
    pid_t made;
    char *none[] = {0};
    posix_spawn(&made, program, 0, 0, arguments, none);
    wait(0);
}

static void handler(int number) {
    start();
    _exit(1);
}

static void from_signal(void) {
    signal(SIGSEGV, handler);
    *(volatile int *)8 = 1;
}

static void from_other_stack(void) {
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&stack, 0);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_NODEFER};
    sigaction(SIGUSR1, &action, 0);
    raise(SIGUSR1);
}

static void at_exit(void) { atexit(start), exit(0); }

static void with_limits(void) {
    struct rlimit small = {65536, 65536};
    setrlimit(RLIMIT_STACK, &small);
    start();
}

static void by_popen(void) { pclose(popen(program, "r")); }

static void by_wordexp(void) {
    char text[4200];
    wordexp_t words;
    snprintf(text, sizeof text, "$(%s)", program);
    wordexp(text, &words, 0);
}

static void by_personality(void) {
    personality(READ_IMPLIES_EXEC | ADDR_NO_RANDOMIZE | MMAP_PAGE_ZERO);
    start();
}

// Lets everything through: the strictest answer of all filters counts.
static void behind_filter(void) {
    struct sock_filter lets[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {1, lets};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter))
        perror("seccomp");
    start();
}

static void in_session(void) {
    if (!fork()) {
        setsid();
        if (!fork())
            start();
        _exit(0);
    }
    wait(0);
    usleep(100000);
}

#ifdef __x86_64__
static void *low(const void *bytes, size_t length) {
    void *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    return memcpy(page, bytes, length);
}

static void i386(void) {
    long result, path = (long)low(program, strlen(program) + 1);
    int array[] = {path, 0};
    void *argv = low(array, sizeof array);
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(11L), "b"(path), "c"(argv), "d"(0L) : "memory", "r8", "r9", "r10", "r11");
}

static void x32(void) { syscall(0x40000000 | 520, program, arguments, 0); }
#endif

static const struct { const char *name; void (*run)(void); } MODES[] = {
    {"thread", thread}, {"threads", threads}, {"vfork", after_vfork}, {"clone-vm", clone_vm}, {"clone-files", clone_files},
    {"clone3", by_clone3}, {"fork", by_fork}, {"spawn", spawn}, {"signal", from_signal}, {"stack", from_other_stack},
    {"exit", at_exit}, {"limits", with_limits}, {"popen", by_popen}, {"wordexp", by_wordexp}, {"personality", by_personality},
    {"filter", behind_filter}, {"session", in_session},
#ifdef __x86_64__
    {"i386", i386}, {"x32", x32},
#endif
};

int main(int argc, char **argv) {
    program = getenv("P");
    if (chdir(getenv("R")))
        return 1;
    for (size_t i = 0; i < sizeof MODES / sizeof *MODES; i++)
        if (!strcmp(MODES[i].name, argv[1])) {
            MODES[i].run();
            return 0;
        }
    return 2;
}
