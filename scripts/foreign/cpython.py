"""CPython's own tests, of Debian's interpreter."""

import pathlib
import shutil

from . import packages
from .case import FAIL, Ended, Job, Suite

PYTHON = "/usr/bin/python3"
# Modules that live on system calls. Absent: those that need gigabytes, the network, or a screen.
MODULES = """
test_os test_posix test_posixpath test_stat test_pathlib test_shutil test_tempfile test_glob test_fileio test_file
test_io test_mmap test_fcntl test_ioctl test_select test_selectors test_poll test_epoll test_openpty test_pty
test_signal test_threadsignals test_subprocess test_fork1 test_wait3 test_wait4 test_popen test_socket
test_socketserver test_threading test_thread test_eintr test_resource test_pwd test_getpass test_tarfile test_zipfile
test_mailbox test_filecmp test_fileinput test_netrc test_dbm_dumb test_sqlite3.test_dbapi test_asyncio.test_subprocess
test_asyncio.test_unix_events test_multiprocessing_fork
""".split()


def cases(ended: Ended) -> dict[str, str]:
    """The cases that the runner wrote. One that started and has no result ended its process."""
    found = {}
    file = ended.scratch / "cases"
    for line in file.read_text(errors="replace").splitlines() if file.exists() else []:
        what, _, name = line.partition("\t")
        # A failure of a part, or of what cleans up, stays one.
        if found.get(name) != FAIL:
            found[name] = what
    return found


class CPython(Suite):
    name = "cpython"
    origin = "Debian's libpython3-testsuite, for its python3"

    def package(self) -> str:
        release = packages.output(PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
        return f"libpython{release}-testsuite"

    def version(self) -> str:
        return packages.version(self.package())

    def prepare(self) -> None:
        packages.install(self.package())
        # The checkout may lie where only root can look.
        shutil.copy(pathlib.Path(__file__).with_name("unittest_cases.py"), self.work / "unittest_cases.py")

    def jobs(self) -> list[Job]:
        runner = str(self.work / "unittest_cases.py")
        return [
            Job(module, (PYTHON, runner, module, "{scratch}/cases", "{scratch}/done"), cases, goes_on=True)
            for module in MODULES
        ]
