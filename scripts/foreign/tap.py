"""The Test Anything Protocol, as git, libuv and pjdfstest print it."""

import re

from .case import FAIL, HANG, OK, SKIP, Ended

LINE = re.compile(r"^(not )?ok (\d+)(?:[ \t]+-?[ \t]*([^#\n]*))?(?:#[ \t]*(\w+).*)?$", re.MULTILINE)
# pjdfstest's names of errors.
ERROR = re.compile(r", got (E[A-Z0-9]+)\s*$")
PLAN = re.compile(r"^1\.\.\d+", re.MULTILINE)


def result(failed: str | None, directive: str) -> str:
    if directive.lower() == "skip":
        return SKIP
    # What is known to be broken is expected to fail.
    if directive.lower() == "todo":
        return OK
    return FAIL if failed else OK


def ending(ended: Ended) -> str:
    """Whether the script came to its end."""
    if ended.code is None:
        return HANG
    return OK if PLAN.search(ended.output) else FAIL


def cases(ended: Ended) -> dict[str, str]:
    """The cases by number and description, and `plan`, the end of the script."""
    found = {"plan": ending(ended)}
    for failed, number, description, directive in LINE.findall(ended.output):
        found[f"{number} {description}".strip()] = result(failed, directive)
    return found


def numbers(ended: Ended) -> dict[str, str]:
    """The cases by number alone, for descriptions with names drawn by lot. The error that a failed call got belongs to
    the result: two failures may differ."""
    found = {"plan": ending(ended)}
    for failed, number, description, directive in LINE.findall(ended.output):
        error = ERROR.search(description)
        found[number] = result(failed, directive) + (f", got {error[1]}" if error else "")
    return found
