"""stress-ng: each stressor for a fixed number of operations, with what it can verify."""

from . import packages
from .case import Job, Suite, by_exit_code

# Those that exercise system calls about files, processes, signals, memory and IPC. Absent: stressors that use up the
# machine's memory or processors (exec starts thousands of processes at once), need a device, load modules, change the clock or flood the network.
STRESSORS = """
access af-alg affinity aio alarm bad-altstack branch cap chattr chdir chmod chown chroot clock close context copy-file
daemon dentry dir dirdeep dnotify dup dup2 dynlib env epoll eventfd exit-group fallocate fault fcntl fiemap fifo
file-ioctl filename flock fork fp-error fpunch fsize fstat full funccall futex get getdent getrandom handle hdd icache
inode-flags inotify io io-uring iomix ioprio itimer kcmp key kill klog landlock lease link loadavg locka lockf lockofd
longjmp madvise malloc mcontend membarrier memfd mergesort mincore misaligned mknod mlock mmap mmapaddr mmapfixed
mmapfork mprotect mq mremap msg msync munmap mutex nanosleep netlink-proc netlink-task nice null open pagemove
personality ping-sock pipe pipeherd pkey poll prctl prefetch procfs ptrace pty readahead regs remap rename resched
revio ring-pipe rlimit rmap rseq schedpolicy seal seccomp secretmem seek sem sem-sysv sendfile session set shellsort
shm shm-sysv sigabrt sigchld sigfd sigfpe sigio signal signest sigpending sigpipe sigrt sigsegv sigsuspend sigtrap
sleep sock sockabuse sockdiag sockfd sockpair spawn splice stackmmap statmnt switch symlink sync-file syncload sysinfo
tee timer timerfd touch truncate udp unshare urandom userfaultfd usersyscall utime vdso verity vfork vm-addr vm-rw
vm-segv vm-splice wait xattr yield zero
""".split()
OPTIONS = ("--timeout", "20", "--verify", "--temp-path", ".")
# Not implemented here, not enough of a resource.
SKIPPED = (3, 4)


class StressNg(Suite):
    name = "stress-ng"
    origin = "Debian's stress-ng"

    def version(self) -> str:
        return packages.version("stress-ng")

    def prepare(self) -> None:
        packages.install("stress-ng")

    def jobs(self) -> list[Job]:
        here = set(packages.output("stress-ng", "--stressors").split())
        return [
            Job(
                name,
                ("stress-ng", f"--{name}", "1", f"--{name}-ops", "50", *OPTIONS),
                by_exit_code(SKIPPED),
                silence=90,
                limit=90,
            )
            for name in STRESSORS
            if name in here
        ]
