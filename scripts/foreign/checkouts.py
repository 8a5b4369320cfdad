"""Suites that no package carries: they are taken from a directory that the caller names, built or installed there."""

import os
import pathlib
import shlex

from . import packages, tap
from .case import Job, Suite, Unavailable, by_exit_code

# Their own bits for "not for this configuration" alone (TCONF).
LTP_SKIPPED = (32,)
# A test that tries one race over and over, until a time is over, gets this part of that time. Where its authors do not
# allow less than minutes (min_runtime), it is left out: each would have to run twice.
LTP_RUNTIME = "0.05"
LTP_RACES_OF_MINUTES = ("bind06", "preadv203", "preadv203_64", "setsockopt06", "setsockopt07")


class Checkout(Suite):
    """A suite in `directory`, or None where the caller has named none."""

    option = ""

    def __init__(self, work: pathlib.Path, directory: pathlib.Path | None):
        super().__init__(work)
        self.directory = directory.absolute() if directory else None

    def version(self) -> str:
        if self.directory is None:
            raise Unavailable(f"no package carries it: {self.option} DIR names a checkout that is built")
        if not self.directory.is_dir():
            raise Unavailable(f"{self.option} {self.directory}: no such directory")
        commit = packages.output("git", "-C", str(self.directory), "rev-parse", "--short=12", "HEAD")
        return commit or f"{self.directory.stat().st_mtime_ns:x}"


class Ltp(Checkout):
    name = "ltp"
    origin = "the Linux Test Project's runtest/syscalls"
    option = "--ltp"

    def prepare(self) -> None:
        if not (self.directory / "runtest/syscalls").exists():
            raise Unavailable(f"{self.directory} has no runtest/syscalls")

    def jobs(self) -> list[Job]:
        directories = {str(self.directory / "testcases/bin")}
        for place, _, files in os.walk(self.directory / "testcases/kernel/syscalls"):
            if any(os.access(os.path.join(place, file), os.X_OK) for file in files):
                directories.add(place)
        path = os.pathsep.join([*sorted(directories), "/usr/sbin:/usr/bin:/sbin:/bin"])
        jobs = []
        for line in (self.directory / "runtest/syscalls").read_text().splitlines():
            words = shlex.split(line, comments=True)
            if len(words) > 1 and words[0] not in LTP_RACES_OF_MINUTES:
                env = {"PATH": path, "LTPROOT": str(self.directory), "LTP_RUNTIME_MUL": LTP_RUNTIME}
                command = ("sh", "-c", f"exec {shlex.join(words[1:])}")
                jobs.append(Job(words[0], command, by_exit_code(LTP_SKIPPED), env=env, limit=300, sends=True))
        return jobs


class Pjdfstest(Checkout):
    name = "pjdfstest"
    origin = "pjdfstest's tests/"
    option = "--pjdfstest"

    def prepare(self) -> None:
        if not os.access(self.directory / "pjdfstest", os.X_OK):
            raise Unavailable(f"{self.directory} has no pjdfstest that is built")

    def jobs(self) -> list[Job]:
        tests = self.directory / "tests"
        return [
            Job(str(script.relative_to(tests).with_suffix("")), ("sh", str(script)), tap.numbers)
            for script in sorted(tests.glob("*/*.t"))
        ]
