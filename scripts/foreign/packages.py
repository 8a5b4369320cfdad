"""What Debian's packages carry: installed ones, and sources by `apt-get source`."""

import os
import pathlib
import shutil
import subprocess

from .case import Unavailable

# Sources are listed in few machines' configuration, so that these lists are the script's own.
APT = """Dir::Etc::sourcelist "{apt}/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "{apt}/lists";
Dir::Cache "{apt}/cache";
APT::Sandbox::User "";
Debug::NoLocking "true";
"""


def output(*argv: str) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def installed(package: str) -> str | None:
    """The installed version of a package."""
    status, _, version = output("dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", package).partition(" ")
    return version if status == "installed" else None


def candidate(package: str) -> str | None:
    """The version that apt would install."""
    for line in output("apt-cache", "policy", package).splitlines():
        key, _, version = line.strip().partition(": ")
        if key == "Candidate" and version != "(none)":
            return version
    return None


def version(package: str) -> str:
    found = installed(package) or candidate(package)
    if found is None:
        raise Unavailable(f"no package {package} here: `apt-cache policy {package}` knows none")
    return found


def install(package: str) -> None:
    """As scripts/setup installs what the tests need."""
    if installed(package) is not None:
        return
    if os.geteuid() != 0:
        raise Unavailable(f"{package} is not installed: apt-get install {package}")
    print(f"  installing {package}", flush=True)
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package]
    done = subprocess.run(command, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, stdout=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Unavailable(f"{package} cannot be installed: apt-get ended with {done.returncode}")


def code_name() -> str:
    for line in pathlib.Path("/etc/os-release").read_text().splitlines():
        key, _, value = line.partition("=")
        if key == "VERSION_CODENAME":
            return value.strip('"')
    raise Unavailable("/etc/os-release names no VERSION_CODENAME")


def apt_environment(work: pathlib.Path) -> dict[str, str]:
    """apt with lists of sources of its own: the machine's configuration stays as it is."""
    apt = work / "apt"
    environment = {**os.environ, "APT_CONFIG": str(apt / "apt.conf")}
    if (apt / "ready").exists():
        return environment
    (apt / "lists/partial").mkdir(parents=True, exist_ok=True)
    (apt / "cache/archives/partial").mkdir(parents=True, exist_ok=True)
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    source = f"deb-src [signed-by={keys}] http://deb.debian.org/debian {code_name()} main\n"
    (apt / "sources.list").write_text(source)
    (apt / "apt.conf").write_text(APT.format(apt=apt))
    print("  fetching Debian's list of sources", flush=True)
    if subprocess.run(["apt-get", "update", "-qq"], env=environment).returncode != 0:
        raise Unavailable("apt-get update cannot fetch Debian's list of sources")
    (apt / "ready").touch()
    return environment


def source(package: str, work: pathlib.Path) -> pathlib.Path:
    """The unpacked source of a package, with Debian's patches."""
    tree = work / package
    if tree.exists():
        return tree
    if not shutil.which("dpkg-source"):
        raise Unavailable("dpkg-source is missing: apt-get install dpkg-dev")
    environment = apt_environment(work)
    fetched = work / f"{package}.fetched"
    shutil.rmtree(fetched, ignore_errors=True)
    fetched.mkdir()
    print(f"  fetching the source of {package}", flush=True)
    done = subprocess.run(["apt-get", "source", "-qq", package], cwd=fetched, env=environment, capture_output=True)
    trees = [entry for entry in fetched.iterdir() if entry.is_dir()]
    if done.returncode != 0 or len(trees) != 1:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise Unavailable(f"apt-get source {package}: {lines[-1]}")
    trees[0].rename(tree)
    shutil.rmtree(fetched)
    return tree


def build(tree: pathlib.Path, log: pathlib.Path, *argv: str) -> None:
    """Runs a build, with its output in a file."""
    print(f"  building {tree.name} (its output: {log})", flush=True)
    with log.open("wb") as file:
        done = subprocess.run(argv, cwd=tree, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise Unavailable(f"{tree.name} does not build: {log}")
