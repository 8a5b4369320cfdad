"""The tests of Go's standard library that are next to the system."""

import json
import os
import pathlib
import subprocess

from . import packages
from .case import FAIL, HANG, OK, SKIP, Ended, Job, Suite, Unavailable

PACKAGES = ["os", "os/exec", "os/signal", "os/user", "syscall", "path/filepath", "io/ioutil", "internal/poll", "net"]
RESULTS = {"pass": OK, "fail": FAIL, "skip": SKIP}


class Go(Suite):
    name = "go"
    origin = "Debian's golang-src"

    def root(self) -> pathlib.Path:
        return pathlib.Path(packages.output("go", "env", "GOROOT"))

    def version(self) -> str:
        return packages.output("go", "env", "GOVERSION") or packages.version("golang-src")

    def prepare(self) -> None:
        packages.install("golang-go")
        built = self.work / "go"
        built.mkdir(exist_ok=True)
        environment = {**os.environ, "GOCACHE": str(self.work / "go-cache"), "GOFLAGS": "-mod=mod"}
        for package in PACKAGES:
            binary = built / package.replace("/", "-")
            if binary.exists():
                continue
            print(f"  building Go's tests of {package}", flush=True)
            command = ["go", "test", "-c", "-o", str(binary), package]
            done = subprocess.run(command, cwd=self.root() / "src", env=environment, capture_output=True, text=True)
            if done.returncode != 0:
                raise Unavailable(f"Go's tests of {package} do not build: {done.stderr.strip()[-200:]}")

    def jobs(self) -> list[Job]:
        # As Go's own run of all tests does.
        flags = ("-test.v", "-test.short", "-test.timeout=10m")
        return [
            Job(
                package,
                (str(self.work / "go" / package.replace("/", "-")), *flags),
                self.cases,
                cwd=str(self.root() / "src" / package),
                env={"GOCACHE": "{scratch}/cache"},
                sends=package == "net",
            )
            for package in PACKAGES
        ]

    def cases(self, ended: Ended) -> dict[str, str]:
        """The cases as `go test -json` reports them; `package` is the end of the whole."""
        converted = subprocess.run(
            ["go", "tool", "test2json"], input=ended.output, capture_output=True, text=True, check=True
        ).stdout
        found = {}
        for line in converted.splitlines():
            event = json.loads(line)
            if "Test" in event and event["Action"] in RESULTS:
                found[event["Test"]] = RESULTS[event["Action"]]
            elif "Test" in event and event["Action"] == "run":
                found[event["Test"]] = HANG if ended.code is None else FAIL
        found["package"] = HANG if ended.code is None else OK if found else FAIL
        return found
