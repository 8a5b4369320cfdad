# A timer of 1 kHz, and calls that Python does not try again after a signal (PEP 475 lists those that it does).
import collections
import os
import signal
import tempfile

ROUNDS = 5000
failed = collections.Counter()


def until_done(name, call, *arguments):
    while True:
        try:
            return call(*arguments)
        except InterruptedError:
            failed[name] += 1


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    open("a", "w").close()
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    for _ in range(ROUNDS):
        until_done("mkdir", os.mkdir, "d")
        until_done("rename", os.rename, "a", "b")
        until_done("rename", os.rename, "b", "a")
        until_done("listdir", os.listdir, ".")
        until_done("rmdir", os.rmdir, "d")
    signal.setitimer(signal.ITIMER_REAL, 0)
    for name, calls in ("mkdir", ROUNDS), ("rename", 2 * ROUNDS), ("listdir", ROUNDS), ("rmdir", ROUNDS):
        print("python", name, failed[name], calls)
    os.chdir("/")
