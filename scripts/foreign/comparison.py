"""Runs the jobs of suites, as far as they are not kept, and sorts what differs."""

import argparse
import collections
import fnmatch
import json
import pathlib
import sys
import time

from .case import HANG, Job, Suite
from .differences import Accepted, Difference, compare
from .results import Results
from .runs import Runner, Way


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class Comparison:
    """One run of the script: what it ran, and what differed."""

    def __init__(self, given: argparse.Namespace, runner: Runner, known: list[Accepted]):
        self.given = given
        self.runner = runner
        self.known = known
        self.deadline = time.monotonic() + given.minutes * 60
        self.new: list[Difference] = []
        self.expected: list[tuple[Difference, str]] = []
        self.unsteady: list[Difference] = []
        self.hung: list[str] = []
        # What ran: suite, case, who, tier. It tells which entries no longer apply.
        self.compared: list[tuple[str, str, str, str]] = []
        self.counts: collections.Counter[str] = collections.Counter()
        self.left = 0

    def wanted(self, job: str, case: str | None = None) -> bool:
        job_pattern, _, case_pattern = self.given.case.partition(":")
        return fnmatch.fnmatchcase(job, job_pattern) and (
            case is None or fnmatch.fnmatchcase(case, case_pattern or "*")
        )

    def suite(self, suite: Suite, results: Results) -> None:
        jobs = [job for job in suite.jobs() if self.wanted(job.name)]
        for who in self.given.who:
            begin = time.monotonic()
            for number, job in enumerate(jobs, 1):
                if job.sends and not self.given.inside:
                    say(f"left out: {suite.name} {job.name}: it sends beyond loopback, and only root can prevent it")
                    continue
                if time.monotonic() > self.deadline:
                    self.left += len(jobs) - number + 1
                    break
                say(f"== {suite.name} as {who}, {number} of {len(jobs)}: {job.name} ({time.monotonic() - begin:.0f} s)")
                self.job(suite, job, who, results)

    def once(self, suite: Suite, job: Job, way: Way, again: str = "") -> dict[str, str]:
        log = pathlib.Path(suite.name, f"{way.tier or 'native'}-{way.who}{again}", job.name.replace("/", "-") + ".log")
        return self.runner.run(job, way, log)

    def kept(self, suite: Suite, job: Job, way: Way, results: Results) -> dict:
        if job.name not in results.jobs(way):
            begin = time.monotonic()
            cases = self.once(suite, job, way)
            results.keep(way, job.name, {"cases": cases, "seconds": round(time.monotonic() - begin, 1)})
        return results.jobs(way)[job.name]

    def job(self, suite: Suite, job: Job, who: str, results: Results) -> None:
        native = self.kept(suite, job, Way(who, None), results)
        hung = [case for case, result in native["cases"].items() if result == HANG]
        self.hung += [f"{suite.name} {job.name}:{case}, as {who}" for case in hung]
        for tier in self.given.tiers:
            guarded = self.kept(suite, job, Way(who, tier), results)
            different = compare(native["cases"], guarded["cases"])
            found = [
                Difference(suite.name, f"{job.name}:{case}", who, tier, *pair)
                for case, pair in sorted(different.items())
            ]
            if "unsteady" not in guarded:
                guarded["unsteady"] = self.again(suite, job, who, tier, found, different)
                results.keep(Way(who, tier), job.name, guarded)
            for case in native["cases"].keys() | guarded["cases"].keys():
                if self.wanted(job.name, case):
                    self.compared.append((suite.name, f"{job.name}:{case}", who, tier))
                    self.counts[f"{suite.name}, {tier}, as {who}"] += 1
            for difference in found:
                case = difference.case.removeprefix(f"{job.name}:")
                if self.wanted(job.name, case):
                    self.sort(difference, case in guarded["unsteady"])

    def reason(self, difference: Difference) -> str | None:
        for entry in self.known:
            if entry.covers(difference.suite, difference.case, difference.who, difference.tier):
                return entry.reason
        return None

    def again(self, suite: Suite, job: Job, who: str, tier: str, found: list[Difference], different: dict) -> list[str]:
        """The cases that do not differ in the same way a second time. Nobody needs this for what is accepted."""
        if all(self.reason(difference) for difference in found):
            return []
        say("   differs: runs again")
        native = self.once(suite, job, Way(who, None), "-again")
        guarded = self.once(suite, job, Way(who, tier), "-again")
        second = compare(native, guarded)
        return sorted(case for case, pair in different.items() if second.get(case) != pair)

    def sort(self, difference: Difference, unsteady: bool) -> None:
        reason = self.reason(difference)
        if reason is not None:
            self.expected.append((difference, reason))
        elif unsteady:
            self.unsteady.append(difference)
        else:
            self.new.append(difference)
            say(f"   NEW: {difference}")

    def obsolete(self) -> list[Accepted]:
        """Entries whose cases ran, and none of which differed."""
        used = [difference for difference, _ in self.expected]
        return [
            entry
            for entry in self.known
            if any(entry.covers(*ran) for ran in self.compared)
            and not any(entry.covers(one.suite, one.case, one.who, one.tier) for one in used)
        ]


def report(run: Comparison, given: argparse.Namespace) -> int:
    obsolete = run.obsolete()
    if given.json:
        shape = {
            "compared": run.counts,
            "new": [vars(one) for one in run.new],
            "accepted": [{**vars(one), "reason": reason} for one, reason in run.expected],
            "unsteady": [vars(one) for one in run.unsteady],
            "noLongerDifferent": [vars(entry) for entry in obsolete],
            "hangNatively": run.hung,
            "jobsLeft": run.left,
        }
        print(json.dumps(shape, indent=2))
    else:
        for what, count in run.counts.items():
            print(f"{count:6} cases compared: {what}")
        print(f"{len(run.expected)} accepted differences, {len(run.unsteady)} unsteady, {len(run.new)} new")
        for case in run.hung:
            print(f"hangs natively, and is not compared: {case}")
        for one in run.unsteady:
            print(f"unsteady: {one}")
        for entry in obsolete:
            print(f"no longer different: {entry.suite} {entry.case} ({entry.tier}, as {entry.who}): remove the entry")
        for one in run.new:
            print(f"new: {one}")
        if run.left:
            print(f"the time was over with {run.left} jobs to go: the same command goes on")
    return 1 if run.new else 3 if run.left else 0
