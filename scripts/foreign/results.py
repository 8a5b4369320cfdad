"""The results that are kept between runs."""

import hashlib
import json
import pathlib
import platform

from .runs import Way


def digest(*files: pathlib.Path) -> str:
    together = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            together.update(hashlib.file_digest(file, "sha256").digest())
    return together.hexdigest()[:16]


class Results:
    """The results of one suite, one file for each way to run it. A guard's are for one binary, one policy and one kernel."""

    def __init__(self, directory: pathlib.Path, suite: str, version: str, guard: str):
        self.directory = directory / f"{suite}-{version.replace('/', '_')}"
        self.guard = f"{guard}-{platform.release()}"
        self.kept: dict[Way, dict] = {}

    def file(self, way: Way) -> pathlib.Path:
        side = f"native-{platform.release()}" if way.tier is None else f"{self.guard}-{way.tier}"
        return self.directory / f"{side}-{way.who}.json"

    def jobs(self, way: Way) -> dict:
        """For each job its `cases`, its `seconds`, and which of its cases were `unsteady` when it ran again."""
        if way not in self.kept:
            file = self.file(way)
            self.kept[way] = json.loads(file.read_text()) if file.exists() else {}
        return self.kept[way]

    def keep(self, way: Way, job: str, result: dict) -> None:
        self.jobs(way)[job] = result
        self.directory.mkdir(parents=True, exist_ok=True)
        file = self.file(way)
        new = file.with_suffix(".new")
        new.write_text(json.dumps(self.kept[way], indent=1, sort_keys=True))
        new.rename(file)

    def forget(self) -> None:
        for file in self.directory.glob("*.json"):
            file.unlink()
