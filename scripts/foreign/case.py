"""What a suite consists of, and what its cases come to."""

import dataclasses
import pathlib
import typing

OK = "ok"
FAIL = "fail"
SKIP = "skip"
# Neither an end nor output for the job's time.
HANG = "hang"
# The other run had this case, this one did not.
MISSING = "missing"


class Unavailable(Exception):
    """Why a suite cannot run here, in one line."""


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a job ended: `code` as the shell counts it, or None if it was stopped for its silence."""

    code: int | None
    output: str
    scratch: pathlib.Path


@dataclasses.dataclass(frozen=True)
class Job:
    """One command that runs one or more cases. `{scratch}` in `argv` and `env` is its own empty directory."""

    name: str
    argv: tuple[str, ...]
    # The result of each case by its name.
    parse: typing.Callable[[Ended], dict[str, str]]
    cwd: str = "{scratch}"
    env: dict[str, str] = dataclasses.field(default_factory=dict)
    # Seconds without output, or without a further case, after which a case hangs.
    silence: int = 120
    # Seconds for the whole job.
    limit: int = 1200
    # Whether the command writes its cases to `{scratch}/cases`, and leaves out those in `{scratch}/done`.
    goes_on: bool = False
    # Whether it may send packets beyond loopback: it runs only in a network namespace of its own.
    sends: bool = False


class Suite:
    """A test suite that somebody else wrote. `work` is where its sources are unpacked and built."""

    name = ""
    # Where it comes from, for --list.
    origin = ""

    def __init__(self, work: pathlib.Path):
        self.work = work

    def version(self) -> str:
        """The version that results are kept for. Raises Unavailable."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Fetches and builds what is missing. Raises Unavailable."""

    def jobs(self) -> list[Job]:
        """Its jobs, in their order, once it is prepared."""
        raise NotImplementedError


def by_exit_code(skips: typing.Collection[int]) -> typing.Callable[[Ended], dict[str, str]]:
    """A parser for jobs of one case, which the exit code tells."""

    def parse(ended: Ended) -> dict[str, str]:
        if ended.code is None:
            return {"exit": HANG}
        return {"exit": OK if ended.code == 0 else SKIP if ended.code in skips else FAIL}

    return parse
