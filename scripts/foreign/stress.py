"""stress-ng: each stressor for a fixed number of operations, with what it can verify."""

from . import packages
from .case import Job, Suite, by_exit_code

# Those that exercise system calls about files, processes, signals, memory and IPC. Absent: stressors that use up the
# machine's memory or processors, need a device, load modules, change the clock or flood the network.
STRESSORS = """
access affinity aio alarm bad-altstack branch chattr chdir chmod chown clock clone close context copy-file daemon
dentry dir dirdeep dirmany dnotify dup dup2 dynlib env epoll eventfd exec exit-group fallocate fault fcntl fiemap fifo
file-ioctl filename flock fork fp-error fpunch fstat full funccall futex get getdent getrandom handle hdd icache
inode-flags inotify io io-uring iomix itimer key kill klog landlock lease link locka lockbus lockf lockofd loadavg
madvise mcontend membarrier memfd mergesort mincore misaligned mknod mlock mmap mmapaddr mmapfixed mmapfork mmapmany
mprotect mq mremap msg msync munmap mutex nanosleep nice null open pci pidfd pipe pipeherd pkey poll prctl prefetch
procfs pthread ptrace pty readahead regs rename revio rlimit rmap rseq schedpolicy seal seccomp secretmem seek sem
sem-sysv sendfile session set shellsort shm shm-sysv sigabrt sigchld sigfd sigfpe sigio signal signest sigpending
sigpipe sigq sigrt sigsegv sigsuspend sigtrap sleep sock sockabuse sockdiag sockfd sockpair spawn splice stackmmap
statmnt switch symlink sync-file syncload sysinfo tee timer timerfd touch truncate udp unshare urandom userfaultfd
utime vfork vforkmany vm-addr vm-splice wait xattr yield zero zombie
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
