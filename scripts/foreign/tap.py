"""The Test Anything Protocol, as git, libuv and pjdfstest print it."""

import re

from .case import FAIL, HANG, OK, SKIP, Ended

LINE = re.compile(r"^(not )?ok (\d+)(?:[ \t]+-?[ \t]*([^#\n]*))?(?:#[ \t]*(\w+).*)?$", re.MULTILINE)
PLAN = re.compile(r"^1\.\.\d+", re.MULTILINE)


def result(failed: str | None, directive: str) -> str:
    if directive.lower() == "skip":
        return SKIP
    # What is known to be broken is expected to fail.
    if directive.lower() == "todo":
        return OK
    return FAIL if failed else OK


def cases(ended: Ended) -> dict[str, str]:
    """The cases by number and description; `plan` tells whether the script came to its end."""
    found = {}
    for failed, number, description, directive in LINE.findall(ended.output):
        found[f"{number} {description}".strip()] = result(failed, directive)
    if ended.code is None:
        found["plan"] = HANG
    else:
        found["plan"] = OK if PLAN.search(ended.output) else FAIL
    return found
