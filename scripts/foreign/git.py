"""git's own tests: t0 (its basis) and t1 (its plumbing), of Debian's source, with the git that is built from it."""

from . import packages, tap
from .case import Job, Suite

# Without what would need more libraries. None of it is in t0 and t1.
OPTIONS = ["CFLAGS=-O1", "NO_CURL=1", "NO_GETTEXT=1", "NO_TCLTK=1", "NO_OPENSSL=1", "NO_EXPAT=1", "NO_PYTHON=1"]


class Git(Suite):
    name = "git"
    origin = "Debian's source of git: t/t0*, t/t1*"

    def version(self) -> str:
        return packages.version("git")

    def prepare(self) -> None:
        tree = packages.source("git", self.work)
        if (tree / "built").exists():
            return
        packages.build(tree, self.work / "git.log", "make", "-j2", *OPTIONS, "all")
        (tree / "built").touch()

    def jobs(self) -> list[Job]:
        tests = self.work / "git/t"
        return [
            Job(
                script.stem,
                ("sh", script.name, "--root={scratch}/trash"),
                tap.cases,
                cwd=str(tests),
                env={"TEST_OUTPUT_DIRECTORY": "{scratch}"},
            )
            for script in sorted(tests.glob("t[01]*.sh"))
        ]
