"""libuv's own tests, of Debian's source. Built without CMake: the compiler and the list of its files for Linux do."""

import re

from . import packages, tap
from .case import Job, Suite, Unavailable


def sources(text: str) -> list[str]:
    """The files of its library and of its tests for Linux, from its CMakeLists.txt."""
    found = ["src/unix/proctitle.c", "test/runner-unix.c"]
    text = " ".join(text.split())
    for before in (
        "set(uv_sources src/",
        "list(APPEND uv_sources src/unix/async.c",
        'STREQUAL "Linux") list(APPEND uv_defines',
        "list(APPEND uv_test_sources test/blackhole",
    ):
        start = text.find(before)
        if start < 0:
            raise Unavailable(f"libuv's CMakeLists.txt is not as expected: nothing begins with {before}")
        end = text.find("endif()", start) if "Linux" in before else text.find(")", start)
        found += re.findall(r"\b(?:src|test)/[\w./-]+\.c\b", text[start:end])
    return found


class Libuv(Suite):
    name = "libuv"
    origin = "Debian's source of libuv1"

    def version(self) -> str:
        return packages.version("libuv1")

    def prepare(self) -> None:
        tree = packages.source("libuv1", self.work)
        if (tree / "run-tests").exists():
            return
        files = sources((tree / "CMakeLists.txt").read_text())
        flags = ["-O1", "-w", "-Iinclude", "-Isrc", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64"]
        flags.append("-D_POSIX_C_SOURCE=200112")
        # Some tests include a file of the library.
        flags += ["-Wl,--allow-multiple-definition", "-pthread"]
        packages.build(tree, self.work / "libuv.log", "cc", *flags, *files, "-o", "run-tests", "-ldl", "-lrt")

    def jobs(self) -> list[Job]:
        tree = str(self.work / "libuv1")
        # The tests write into the current directory, where they look for their data, too.
        command = 'mkdir test && cp -r "$1/test/fixtures" test && exec "$1/run-tests"'
        return [
            Job("run-tests", ("sh", "-c", command, "sh", tree), tap.cases, env={"UV_RUN_AS_ROOT": "1"}, sends=True)
        ]
