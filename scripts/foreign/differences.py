"""Compares results case by case, against the list of accepted differences."""

import dataclasses
import fnmatch
import pathlib
import tomllib

from .case import HANG, MISSING

KEYS = {"suite", "case", "who", "tier", "reason"}


@dataclasses.dataclass(frozen=True)
class Difference:
    suite: str
    case: str
    who: str
    tier: str
    native: str
    guarded: str

    def __str__(self) -> str:
        return f"{self.suite} {self.case}: native {self.native}, guarded {self.guarded} ({self.tier}, as {self.who})"


@dataclasses.dataclass(frozen=True)
class Accepted:
    """`case` is a pattern of JOB:CASE, `who` and `tier` may be `any`."""

    suite: str
    case: str
    who: str
    tier: str
    reason: str

    def covers(self, suite: str, case: str, who: str, tier: str) -> bool:
        return (
            self.suite == suite
            and self.who in ("any", who)
            and self.tier in ("any", tier)
            and fnmatch.fnmatchcase(case, self.case)
        )


def accepted(file: pathlib.Path) -> list[Accepted]:
    """The list. Raises ValueError with the entry that is wrong."""
    entries = tomllib.loads(file.read_text()).get("accepted", [])
    for number, entry in enumerate(entries, 1):
        if set(entry) != KEYS or not all(isinstance(value, str) and value for value in entry.values()):
            raise ValueError(f"{file}: entry {number} needs exactly {', '.join(sorted(KEYS))}, each a string")
    return [Accepted(**entry) for entry in entries]


def compare(native: dict[str, str], guarded: dict[str, str]) -> dict[str, tuple[str, str]]:
    """The cases that differ: their native and their guarded result. What hangs natively tells nothing."""
    different = {}
    for name in native.keys() | guarded.keys():
        pair = native.get(name, MISSING), guarded.get(name, MISSING)
        if pair[0] != pair[1] and pair[0] != HANG:
            different[name] = pair
    return different
