"""Runs one job, natively or under the guard, as one user."""

import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess
import time
import typing

from . import isolation
from .case import FAIL, HANG, Ended, Job

USER = 1000
# What each choice gives to --tiers.
TIERS = {"broker": "broker", "floored": "broker,floored", "kernel": "broker,floored,kernel"}
# A suite that prints more than this has lost its way.
OUTPUT_BYTES = 64 << 20
# A job that hangs or crashes is gone on with behind that case, so often.
RESUMPTIONS = 6
# A guarded command leads neither its session nor its group.
CHILD = ["sh", "-c", '"$@"; exit "$?"', "sh"]
NO_CAPABILITIES = ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"]


@dataclasses.dataclass(frozen=True)
class Guard:
    binary: pathlib.Path
    policy: pathlib.Path


@dataclasses.dataclass(frozen=True)
class Way:
    """As whom, and under what: `tier` is None for a native run."""

    who: str
    tier: str | None

    def __str__(self) -> str:
        return f"{self.tier or 'native'} as {self.who}"

    def uid(self) -> int:
        return USER if self.who == "user" and os.geteuid() == 0 else os.geteuid()

    def command(self, argv: typing.Sequence[str], guard: Guard) -> list[str]:
        """A native run has what the guard leaves to a command: no capabilities, and no way to gain any."""
        changed = os.geteuid() != self.uid()
        identity = [f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if changed else []
        if self.tier is None:
            removed = NO_CAPABILITIES if os.geteuid() == 0 else NO_CAPABILITIES[:1]
            return ["setpriv", *removed, *identity, *CHILD, *argv]
        options = ["--quiet", "--kill-on-exit", f"--policy={guard.policy}", f"--tiers={TIERS[self.tier]}"]
        guarded = [str(guard.binary), *options, "--", *argv]
        return ["setpriv", *identity, *guarded] if identity else guarded


class Runner:
    def __init__(self, work: pathlib.Path, guard: Guard, logs: pathlib.Path):
        self.scratches = work / "scratch"
        self.scratches.mkdir(exist_ok=True)
        self.guard = guard
        self.logs = logs
        self.count = 0

    def run(self, job: Job, way: Way, log: pathlib.Path) -> dict[str, str]:
        """The job's cases. Its output goes to a file below the logs."""
        log = self.logs / log
        log.parent.mkdir(parents=True, exist_ok=True)
        scratch = self.scratch(way.uid())
        try:
            return self.cases(job, way, scratch, log)
        finally:
            remove(scratch)

    def cases(self, job: Job, way: Way, scratch: pathlib.Path, log: pathlib.Path) -> dict[str, str]:
        log.unlink(missing_ok=True)
        for _ in range(RESUMPTIONS):
            code = self.once(job, way, scratch, log)
            found = job.parse(ended(code, log, scratch))
            stuck = [name for name, result in found.items() if result == "start"]
            if not job.goes_on or not stuck and code is not None:
                break
            with (scratch / "cases").open("a") as file:
                file.writelines(f"{HANG if code is None else FAIL}\t{name}\n" for name in stuck)
            (scratch / "done").write_text("".join(f"{name}\n" for name in found))
            if not stuck:
                break
        return job.parse(ended(code, log, scratch))

    def scratch(self, uid: int) -> pathlib.Path:
        # The name has the same length for every run: some tests fill a path up to its limit.
        self.count += 1
        scratch = self.scratches / f"{self.count:06}"
        for place in (scratch, scratch / "home", scratch / "tmp", scratch / "state"):
            place.mkdir(mode=0o700)
            os.chown(place, uid, uid if os.geteuid() == 0 else -1)
        return scratch

    def once(self, job: Job, way: Way, scratch: pathlib.Path, log: pathlib.Path) -> int | None:
        """The exit code, 128 and the signal's number for a signal, or None for a job that hangs."""

        def filled(text: str) -> str:
            return text.replace("{scratch}", str(scratch))

        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "LANG": "C.UTF-8",
            "HOME": str(scratch / "home"),
            "TMPDIR": str(scratch / "tmp"),
            "OPENCLAW_STATE_DIR": str(scratch / "state"),
            **{key: filled(value) for key, value in job.env.items()},
        }
        with log.open("ab") as output:
            process = subprocess.Popen(
                way.command([filled(word) for word in job.argv], self.guard),
                cwd=filled(job.cwd),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            code = wait(process, job, [log, scratch / "cases"])
        finally:
            end(process)
        return code if code is None or code >= 0 else 128 - code


def ended(code: int | None, log: pathlib.Path, scratch: pathlib.Path) -> Ended:
    """Names of cases may contain the directory, which is another one for each run."""
    return Ended(code, log.read_text(errors="replace").replace(str(scratch), "{scratch}"), scratch)


def wait(process: subprocess.Popen, job: Job, watched: list[pathlib.Path]) -> int | None:
    begin = heard = time.monotonic()
    sizes: list[int] = []
    while process.poll() is None:
        time.sleep(0.05)
        isolation.reap(process.pid)
        now = time.monotonic()
        seen = [path.stat().st_size if path.exists() else 0 for path in watched]
        if seen != sizes:
            sizes, heard = seen, now
        if now - heard > job.silence or now - begin > job.limit or seen[0] > OUTPUT_BYTES:
            return None
    return process.returncode


def end(process: subprocess.Popen) -> None:
    """Ends the session of a job, and what has left it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(5)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
    process.wait()
    isolation.end_children()
    isolation.remove_ipc()


def remove(scratch: pathlib.Path) -> None:
    """Removes a directory, whatever modes a test has left there."""
    subprocess.run(["chmod", "-R", "u+rwx", str(scratch)], stderr=subprocess.DEVNULL)
    subprocess.run(["rm", "-rf", str(scratch)], stderr=subprocess.DEVNULL)
    shutil.rmtree(scratch, ignore_errors=True)
