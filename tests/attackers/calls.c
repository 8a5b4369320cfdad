// Attacks by system calls that no library makes: `calls MODE`.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static const char *secret, *kept, *program, *root;

static char *below(const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s%s", root, name);
    return path;
}

static void show(int file) {
    char text[256];
    ssize_t length = read(file, text, sizeof text);
    if (length > 0)
        write(1, text, length);
}

#ifdef __x86_64__
// The i386 entry, from 64-bit code: the numbers are those of i386, the pointers have 32 bits.
static long i386(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory", "r8", "r9", "r10", "r11");
    return result;
}

static char *low(const char *text) {
    char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    return strcpy(page, text);
}

static void i386_open(void) { show(i386(5, (long)low(secret), O_RDONLY, 0)); }
static void i386_openat(void) { show(i386(295, AT_FDCWD, (long)low(secret), O_RDONLY)); }
static void i386_creat(void) { i386(8, (long)low(below("only/new")), 0600, 0); }
static void i386_unlink(void) { i386(10, (long)low(kept), 0, 0); }
static void i386_rename(void) { i386(38, (long)low(secret), (long)low("stolen"), 0), show(open("stolen", O_RDONLY)); }
static void i386_link(void) { i386(9, (long)low(secret), (long)low("stolen"), 0), show(open("stolen", O_RDONLY)); }
static void i386_truncate(void) { i386(92, (long)low(kept), 0, 0); }
static void i386_chmod(void) { i386(15, (long)low(kept), 0777, 0); }
static void i386_mkdir(void) { i386(39, (long)low(below("only/new")), 0700, 0); }
static void i386_openat2(void) {
    struct { uint64_t flags, mode, resolve; } how = {0};
    char *page = low("");
    memcpy(page, &how, sizeof how);
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(437L), "b"((long)AT_FDCWD), "c"(low(secret)), "d"(page), "S"(24L) : "memory", "r8", "r9", "r10", "r11");
    show(result);
}
static void x32_open(void) { show(syscall(0x40000002, secret, O_RDONLY, 0)); }
static void x32_openat(void) { show(syscall(0x40000101, AT_FDCWD, secret, O_RDONLY, 0)); }
#endif
// The kernel looks at the lower half of the number only.
static void number_with_upper_bits(void) {
#ifdef __aarch64__
    register long x8 __asm__("x8") = 0x7777777700000000 | SYS_openat;
    register long x0 __asm__("x0") = AT_FDCWD, x1 __asm__("x1") = (long)secret, x2 __asm__("x2") = 0, x3 __asm__("x3") = 0;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    show(x0);
#else
    long result;
    register long r10 __asm__("r10") = 0;
    __asm__ volatile("syscall" : "=a"(result) : "a"(0x7777777700000101), "D"((long)AT_FDCWD), "S"(secret), "d"(0L), "r"(r10) : "rcx", "r11", "memory");
    show(result);
#endif
}

// One request through a ring, by the system calls alone.
static int submit(struct io_uring_sqe *wanted, int flags) {
    struct io_uring_params p = {.flags = flags};
    int ring = syscall(SYS_io_uring_setup, 4, &p);
    if (ring < 0) return -errno;
    char *sq = mmap(0, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    char *cq = mmap(0, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
    struct io_uring_sqe *entries = mmap(0, p.sq_entries * sizeof *entries, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    entries[0] = *wanted;
    *(unsigned *)(sq + p.sq_off.array) = 0;
    __atomic_fetch_add((unsigned *)(sq + p.sq_off.tail), 1, __ATOMIC_RELEASE);
    unsigned wake = flags & IORING_SETUP_SQPOLL ? IORING_ENTER_SQ_WAKEUP : 0;
    if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS | wake, 0, 0) < 0) return -errno;
    return ((struct io_uring_cqe *)(cq + p.cq_off.cqes))->res;
}

static struct io_uring_sqe request(int op, int fd, const void *address) {
    struct io_uring_sqe entry = {.opcode = op, .fd = fd, .addr = (uint64_t)address};
    return entry;
}

static void ring_open(void) {
    struct io_uring_sqe entry = request(IORING_OP_OPENAT, AT_FDCWD, secret);
    show(submit(&entry, 0));
}
static void ring_open2(void) {
    uint64_t how[3] = {0};
    struct io_uring_sqe entry = request(IORING_OP_OPENAT2, AT_FDCWD, secret);
    entry.len = sizeof how, entry.off = (uint64_t)how;
    show(submit(&entry, 0));
}
static void ring_write(void) {
    struct io_uring_sqe entry = request(IORING_OP_OPENAT, AT_FDCWD, kept);
    entry.open_flags = O_WRONLY | O_TRUNC;
    submit(&entry, 0);
}
static void ring_unlink(void) {
    struct io_uring_sqe entry = request(IORING_OP_UNLINKAT, AT_FDCWD, kept);
    submit(&entry, 0);
}
static void ring_rename(void) {
    struct io_uring_sqe entry = request(IORING_OP_RENAMEAT, AT_FDCWD, secret);
    entry.len = AT_FDCWD, entry.off = (uint64_t)"stolen";
    submit(&entry, 0), show(open("stolen", O_RDONLY));
}
static void ring_mkdir(void) {
    struct io_uring_sqe entry = request(IORING_OP_MKDIRAT, AT_FDCWD, below("only/new"));
    entry.len = 0700;
    submit(&entry, 0);
}
static void ring_polled(void) {
    struct io_uring_sqe entry = request(IORING_OP_OPENAT, AT_FDCWD, secret);
    int file = submit(&entry, IORING_SETUP_SQPOLL);
    show(file);
}

// Filters of its own before the call. The guard's answer stands beside theirs, and the strictest counts.
static void filtered(unsigned action, unsigned flags) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1), BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {4, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
}
static void filter_allows(void) { filtered(SECCOMP_RET_ALLOW, 0), show(open(secret, O_RDONLY)); }
static void filter_logs(void) { filtered(SECCOMP_RET_LOG, SECCOMP_FILTER_FLAG_LOG), show(open(secret, O_RDONLY)); }
static void filter_by_prctl(void) {
    struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {1, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
    show(open(secret, O_RDONLY));
}
// What it says succeeded did not happen: the descriptor 0 is what it was.
static void filter_lies(void) { filtered(SECCOMP_RET_ERRNO, 0), show(open(secret, O_RDONLY)); }
static void on_trap(int number, siginfo_t *info, void *context) {
    mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
    struct { uint64_t flags, mode, resolve; } how = {0};
    long opened = syscall(SYS_openat2, AT_FDCWD, secret, &how, sizeof how);
#ifdef __aarch64__
    machine->regs[0] = opened;
#else
    machine->gregs[REG_RAX] = opened;
#endif
}
static void filter_traps(void) {
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &action, 0);
    filtered(SECCOMP_RET_TRAP, 0), show(open(secret, O_RDONLY));
}
static void filter_stacked(void) {
    for (int i = 0; i < 20; i++) filtered(SECCOMP_RET_ALLOW, 0);
    show(open(secret, O_RDONLY));
}

// A listener of one's own, which lets the call go on.
static void filter_listens(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {4, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
    if (listener < 0) return show(open(secret, O_RDONLY));
    if (!fork()) {
        struct seccomp_notif call = {0};
        struct seccomp_notif_resp lets = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
        ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call);
        lets.id = call.id;
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &lets);
        _exit(0);
    }
    show(open(secret, O_RDONLY));
}
// The guard's listener might have a number here.
static void listener_guessed(void) {
    pid_t child = fork();
    if (!child) { show(open(secret, O_RDONLY)); _exit(0); }
    for (int file = 3; file < 300; file++) {
        struct seccomp_notif call = {0};
        struct seccomp_notif_resp lets = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
        if (ioctl(file, SECCOMP_IOCTL_NOTIF_RECV, &call)) continue;
        lets.id = call.id;
        ioctl(file, SECCOMP_IOCTL_NOTIF_SEND, &lets);
    }
    waitpid(child, 0, 0);
}

static void undumpable(void) { prctl(PR_SET_DUMPABLE, 0), show(open(secret, O_RDONLY)); }
static void undumpable_with_upper_bits(void) {
    syscall(SYS_prctl, 0x7777777700000000 | PR_SET_DUMPABLE, 0x7777777700000000, 0, 0, 0);
    show(open(secret, O_RDONLY));
}
static void other_name(void) { prctl(PR_SET_NAME, "openclaw-guard"), show(open(secret, O_RDONLY)); }
static void as_subreaper(void) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!fork()) {
        if (!fork()) { setsid(); show(open(secret, O_RDONLY)); }
        _exit(0);
    }
    while (wait(0) > 0);
}
static void dispatched(void) {
    static volatile char selector = 0;
    prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, 0, 0, &selector);
    show(open(secret, O_RDONLY));
}
static void read_directly(void) {
    struct iovec none = {0};
    syscall(SYS_process_vm_readv, getppid(), &none, 1, &none, 1, 0);
    show(open(secret, O_RDONLY));
}

// The path's memory is not there, or not as it was, when the supervisor reads it.
static char *volatile page;
static void *meddle(void *how) {
    for (int i = 0; i < 20000; i++) {
        if (*(char *)how == 'd') madvise(page, 4096, MADV_DONTNEED);
        else mprotect(page, 4096, i % 2 ? PROT_NONE : PROT_READ | PROT_WRITE);
    }
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    return 0;
}
static void meddled(char *how) {
    pthread_t thread;
    char path[64] = "pages";
    int file = open(path, O_RDWR | O_CREAT, 0600);
    write(file, secret, strlen(secret) + 1);
    ftruncate(file, 4096);
    page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    pthread_create(&thread, 0, meddle, how);
    for (int i = 0; i < 200; i++) show(open(page, O_RDONLY));
    pthread_join(thread, 0);
    show(open(page, O_RDONLY));
}
static void not_needed(void) { meddled("d"); }
static void protected(void) { meddled("p"); }
// The page is beyond the end of its file: whoever reads it gets SIGBUS, or EFAULT.
static void beyond_the_end(void) {
    int file = open("pages", O_RDWR | O_CREAT, 0600);
    ftruncate(file, 8192);
    char *pages = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    strcpy(pages + 4096 - 3, "../");
    ftruncate(file, 4096);
    open(pages + 4096 - 3, O_RDONLY);
    ftruncate(file, 8192);
    strcpy(pages, secret);
    show(open(pages, O_RDONLY));
}
// A crash in a closed directory would leave its memory there.
static void dumps(void) {
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_CORE, &all);
    prctl(PR_SET_DUMPABLE, 1);
    if (!chdir(below("only"))) abort();
}

static const struct { const char *name; void (*run)(void); } MODES[] = {
#ifdef __x86_64__
    {"i386-open", i386_open}, {"i386-openat", i386_openat}, {"i386-creat", i386_creat}, {"i386-unlink", i386_unlink},
    {"i386-rename", i386_rename}, {"i386-link", i386_link}, {"i386-truncate", i386_truncate}, {"i386-chmod", i386_chmod},
    {"i386-mkdir", i386_mkdir}, {"i386-openat2", i386_openat2}, {"x32-open", x32_open}, {"x32-openat", x32_openat},
#endif
    {"upper-bits", number_with_upper_bits}, {"ring-open", ring_open}, {"ring-open2", ring_open2}, {"ring-write", ring_write},
    {"ring-unlink", ring_unlink}, {"ring-rename", ring_rename}, {"ring-mkdir", ring_mkdir}, {"ring-polled", ring_polled},
    {"filter-allows", filter_allows}, {"filter-logs", filter_logs}, {"filter-by-prctl", filter_by_prctl},
    {"filter-lies", filter_lies}, {"filter-traps", filter_traps}, {"filter-stacked", filter_stacked},
    {"filter-listens", filter_listens}, {"listener-guessed", listener_guessed}, {"undumpable", undumpable},
    {"undumpable-upper-bits", undumpable_with_upper_bits}, {"other-name", other_name}, {"subreaper", as_subreaper},
    {"dispatched", dispatched}, {"read-directly", read_directly}, {"not-needed", not_needed}, {"protected", protected},
    {"beyond-the-end", beyond_the_end}, {"dumps", dumps},
};

int main(int argc, char **argv) {
    secret = getenv("S"), kept = getenv("O"), program = getenv("P"), root = getenv("R");
    for (size_t i = 0; i < sizeof MODES / sizeof *MODES; i++)
        if (!strcmp(MODES[i].name, argv[1])) {
            MODES[i].run();
            return 0;
        }
    return 2;
}
