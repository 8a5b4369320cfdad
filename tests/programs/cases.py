"""Runs modules of CPython's own test suite and prints what became of each case."""
import faulthandler, os, sys, unittest
from test import support

class Outcomes(unittest.TestResult):
    """Lines that do not depend on order or time."""
    lines = []

    def note(self, case, outcome):
        self.lines.append(f"{case.id()} {outcome}")

    def addSuccess(self, case): self.note(case, "ok")
    def addSkip(self, case, reason): self.note(case, f"skipped: {reason}")
    def addExpectedFailure(self, case, error): self.note(case, "failed as expected")
    def addUnexpectedSuccess(self, case): self.note(case, "unexpected success")
    def addFailure(self, case, error): self.fault(case, "failed", error)
    def addError(self, case, error): self.fault(case, "error", error)

    def addSubTest(self, case, part, error):
        if error: self.fault(part, "failed", error, case)

    def fault(self, case, outcome, error, of=None):
        self.note(case, outcome)
        print(f"{case.id()}: {self._exc_info_to_string(error, of or case)}", file=sys.stderr)

def cases(suite):
    for case in suite:
        if isinstance(case, unittest.TestSuite): yield from cases(case)
        else: yield case

if __name__ == "__main__":
    out = os.dup(1)
    os.dup2(2, 1)
    module, leave_out = sys.argv[1], sys.argv[2:]
    faulthandler.dump_traceback_later(1500, exit=True)
    support.use_resources = []
    found = unittest.defaultTestLoader.loadTestsFromName("test." + module)
    wanted = unittest.TestSuite(case for case in cases(found) if not any(word in case.id() for word in leave_out))
    wanted.run(Outcomes())
    faulthandler.cancel_dump_traceback_later()
    with open(out, "w") as stream: stream.write("\n".join(sorted(Outcomes.lines)) + "\n")
