"""unittest_cases.py MODULE CASES DONE: runs a module of CPython's tests, and writes each case's start and result to
CASES at once. What DONE lists is left out: cases that an earlier run, which hung or crashed, came to."""

import os
import pathlib
import sys
import unittest

from test import support

# Of the process that reports: a test's own child, which may load this file again, is not to.
process = None
cases = None


def write(what, name):
    # Opened each time: no test is to find a descriptor of ours.
    if os.getpid() == process:
        with open(cases, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{what}\t{name}\n")


class Result(unittest.TextTestResult):
    def startTest(self, test):
        super().startTest(test)
        write("start", test.id())

    def addSuccess(self, test):
        super().addSuccess(test)
        write("ok", test.id())

    def addFailure(self, test, error):
        super().addFailure(test, error)
        write("fail", test.id())

    def addError(self, test, error):
        super().addError(test, error)
        write("fail", test.id())

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            write("fail", test.id())

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        write("skip", test.id())

    def addExpectedFailure(self, test, error):
        super().addExpectedFailure(test, error)
        write("ok", test.id())

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        write("fail", test.id())


def without(suite, left_out):
    """The suite without what is left out. Classes and modules keep their set-up, which unittest finds by the tests."""
    kept = unittest.TestSuite()
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            kept.addTest(without(test, left_out))
        elif test.id() not in left_out:
            kept.addTest(test)
    return kept


def main():
    global process, cases
    module, cases, done = sys.argv[1:]
    del sys.argv[1:]
    process = os.getpid()
    left_out = set(pathlib.Path(done).read_text().splitlines()) if os.path.exists(done) else set()
    # No resource is enabled: nothing goes to the network, is larger than a few megabytes or plays a sound.
    support.use_resources = []
    support.verbose = 0
    try:
        found = unittest.defaultTestLoader.loadTestsFromName(f"test.{module}")
    except unittest.SkipTest as error:
        write("skip", module)
        print(f"skipped: {error}")
        return
    unittest.TextTestRunner(resultclass=Result, verbosity=0, stream=sys.stdout).run(without(found, left_out))


if __name__ == "__main__":
    main()
