"""Where the suites run, so that they reach nothing but what the script made."""

import ctypes
import fcntl
import os
import pathlib
import signal
import socket
import stat
import struct
import subprocess
import sys

PR_SET_CHILD_SUBREAPER = 36
SIOCSIFFLAGS = 0x8914
IFF_UP = 1
# Character devices by name: major, minor. All that a test may want, and none that controls anything.
DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9), "tty": (5, 0)}
LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}
# What the file systems of the suites may take.
IMAGE_BYTES = 1 << 30
# Whether this process has its own namespaces.
is_set_up = False


def enter() -> int:
    """As root: runs this script again in its own namespaces of mounts, network, processes, IPC and host name, which
    end with it, whatever happens. Returns its exit code."""
    flags = ["--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--mount-proc"]
    child = subprocess.Popen(["unshare", *flags, sys.executable, "-B", *sys.argv, "--inside"])
    # Not SIGTERM, which unshare ignores. The namespaces end with it.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: child.kill())
    return child.wait()


def mount(*argv: str) -> None:
    subprocess.run(["mount", *argv], check=True)


def set_up(work: pathlib.Path) -> None:
    """Inside: loopback alone, no writable sysctl, no device beyond DEVICES, and a file system in an image for scratch
    directories."""
    global is_set_up
    is_set_up = True
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    for place in ("/proc/sys", "/sys"):
        # Without what is mounted below it: control groups, and registered binary formats.
        mount("--bind", place, place)
        mount("-o", "remount,bind,ro", place)
    scratch_file_system(work)
    devices(work)


def scratch_file_system(work: pathlib.Path) -> None:
    image, scratch = work / "scratch.img", work / "scratch"
    image.unlink(missing_ok=True)
    with image.open("wb") as file:
        file.truncate(IMAGE_BYTES)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)
    scratch.mkdir(exist_ok=True)
    # The loop device goes with the mount, and the mount with the namespace.
    mount("-o", "loop,nosuid,nodev", str(image), str(scratch))
    # Nothing else needs its name.
    image.unlink()


def devices(work: pathlib.Path) -> None:
    place = work / "dev"
    place.mkdir(exist_ok=True)
    mount("-t", "tmpfs", "-o", "mode=755,size=64k,nosuid", "guard-foreign", str(place))
    old = os.umask(0)
    for name, (major, minor) in DEVICES.items():
        os.mknod(place / name, 0o666 | stat.S_IFCHR, os.makedev(major, minor))
    os.umask(old)
    for name, target in LINKS.items():
        (place / name).symlink_to(target)
    for name in ("pts", "shm", "mqueue"):
        (place / name).mkdir()
    mount("-t", "devpts", "-o", "newinstance,ptmxmode=0666,mode=620,gid=5", "devpts", str(place / "pts"))
    (place / "ptmx").symlink_to("pts/ptmx")
    mount("-t", "tmpfs", "-o", "mode=1777,nosuid,nodev", "shm", str(place / "shm"))
    mount("-t", "mqueue", "mqueue", str(place / "mqueue"))
    mount("--rbind", str(place), "/dev")


def default_signals() -> None:
    """A shell starts what runs in the background with signals that tests send ignored."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def become_reaper() -> None:
    """What a job leaves behind becomes a child of this process, so that it can be ended."""
    if os.getpid() != 1:
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> list[int]:
    """The processes whose parent is this one."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            # The name, which comes first in parentheses, may contain anything.
            fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except (OSError, NotADirectoryError):
            continue
        if entry.name.isdigit() and int(fields[1]) == os.getpid():
            found.append(int(entry.name))
    return found


def reap(kept: int) -> None:
    """Reaps the orphans of a job that have ended, as an init does, but not the job's own process."""
    while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) and ended.si_pid != kept:
        os.waitpid(ended.si_pid, 0)


def remove_ipc() -> None:
    """Removes the queues, semaphores and shared memory that a job has left. Keys come from inode numbers, and come again."""
    if is_set_up:
        subprocess.run(["ipcrm", "--all"], check=False)


def end_children() -> None:
    """Kills and reaps every process that a job has left, and what these leave in turn."""
    while left := children():
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        for pid in left:
            os.waitpid(pid, 0)
