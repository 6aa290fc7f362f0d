"""A signal never leaves a lock of Python's import system taken, and one that comes twice at once is one."""

import signal
import subprocess
import sys

SCRIPT = """
import importlib.util, signal, sys, time
from polymeter.cli.signals import Signals

frame = None


class Loader:
    def create_module(self, spec):
        return None

    def exec_module(self, module):
        global frame
        frame = sys._getframe(1)


class Finder:
    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, Loader()) if name == "imported" else None


sys.meta_path.insert(0, Finder())
import imported

Signals().install()
handler = signal.getsignal(signal.SIGTERM)
is_back = False
try:
    handler(signal.SIGTERM, frame)
    is_back = True  # nothing that takes longer: the interrupt may come at any step
    time.sleep(60)
except KeyboardInterrupt:
    print(f"inside {frame.f_code.co_filename}: {'not yet' if is_back else 'at once'}")
    print("outside: now")
try:
    Signals().install()
    signal.getsignal(signal.SIGTERM)(signal.SIGTERM, sys._getframe())
except KeyboardInterrupt:
    print("at once")
"""


def test_a_signal_inside_the_import_system_is_raised_when_that_is_left() -> None:
    said = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=True).stdout
    assert said.splitlines() == ["inside <frozen importlib._bootstrap>: not yet", "outside: now", "at once"]


TWICE = """
import os, signal, time
from polymeter.cli import signals


class Clock:
    def sleep(self, seconds):
        print("once more", flush=True)
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGHUP)


signals.time = Clock()
signals.Signals().install()
try:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)
except KeyboardInterrupt:
    print("in order", flush=True)
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(60)
"""


def test_a_signal_that_comes_twice_at_once_is_one() -> None:
    """``scancel`` signals every process of a job, and the job's script passes on the signal that it got."""
    done = subprocess.run([sys.executable, "-c", TWICE], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.splitlines(), done.returncode) == (["once more", "in order"], -signal.SIGTERM)
