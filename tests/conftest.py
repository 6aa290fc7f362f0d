"""What holds for every test: no hub, no caches of the machine, no browser where none is installed."""

import ast
import gc
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

# Libraries read these when they are imported, so they are set before anything else is.
_session_dir = Path(tempfile.mkdtemp(prefix="polymeter-tests-"))
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"
os.environ["HF_DATASETS_DISABLE_PROGRESS_BARS"] = "1"
os.environ.setdefault("HF_HOME", str(_session_dir / "huggingface"))
os.environ["POLYMETER_CACHE_DIR"] = str(_session_dir / "cache")
# Workers share the cores: a library that takes all of them for each would have them wait for one another.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
# Whatever else is installed beside this package: a test that wants benchmarks of another tool's package says so.
os.environ["POLYMETER_INSTALLED_BENCHMARKS"] = "off"

# A shell that starts the suite in the background ignores Ctrl-C for it; some tests interrupt themselves.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

from tests.helpers import prepared_start  # noqa: E402
from tests.helpers.recorded import References  # noqa: E402

# How long an example takes is no property of the code: a first import or a busy machine must not fail a test.
# Where many look at one result (CI), examples are few and the same each time; the nightly tests take 1,000.
settings.register_profile(
    "polymeter",
    deadline=None,
    max_examples=int(os.environ.get("HYPOTHESIS_EXAMPLES") or (25 if os.environ.get("CI") else 100)),
    derandomize=bool(os.environ.get("CI")) and not os.environ.get("HYPOTHESIS_EXAMPLES"),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("polymeter")


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--fresh-processes``: start every command as a user does, which takes longer. ``--record-references``: compute
    what other libraries give, and keep it.
    """
    parser.addoption("--fresh-processes", action="store_true", help="fork no command from a prepared process")
    parser.addoption("--record-references", action="store_true", help="record reference values of other libraries")


@pytest.fixture
def references(request: pytest.FixtureRequest) -> References:
    """What another library gives for the cases of this test."""
    return References(request.node.name, records=request.config.getoption("--record-references"))


def pytest_configure(config: pytest.Config) -> None:
    """Let tests start commands from a prepared process."""
    if not config.getoption("--fresh-processes"):
        prepared_start.install()


@pytest.hookimpl(optionalhook=True)  # without xdist nobody asks
def pytest_xdist_auto_num_workers() -> int:
    """``-n auto``: one more than there are cores, since tests wait for browsers, servers and processes of their own."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_finish() -> None:
    """Keep the collected tests out of the search for garbage."""
    _freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """After a module of tests: keep what it has imported out of the search for garbage, and undo what its guests have
    left in the environment that imports read, with which no command would be a fork any more.
    """
    yield
    if nextitem is None or nextitem.path != item.path:
        _freeze()
        prepared_start.restore_environment()


def _freeze() -> None:
    """Runs search for garbage. In a process that holds the whole suite, and all that it has imported, that search takes
    longer than a short run.
    """
    gc.collect()
    gc.freeze()


_NEEDS_SYSTEM = re.compile(r"^pytestmark\b.*?\bneeds_system\(", re.MULTILINE | re.DOTALL)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out a test file whose ``pytestmark`` needs a system that is not there: it could not even be imported."""
    if collection_path.suffix != ".py" or not collection_path.is_file():
        return None
    text = collection_path.read_text(encoding="utf-8")
    return True if _NEEDS_SYSTEM.search(text) and not _needed_by_file(text) <= _systems() else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that drive a browser where there is no Chromium to drive, and those that need a system that is not
    there.
    """
    has_browser = bool(shutil.which("chromium")) or Path("/usr/bin/chromium").exists()
    no_browser = pytest.mark.skip(reason="no Chromium: neither /usr/bin/chromium nor chromium on PATH")
    for item in items:
        if not has_browser and item.get_closest_marker("browser"):
            item.add_marker(no_browser)
        missing = {name for mark in item.iter_markers("needs_system") for name in mark.args} - _systems()
        if missing:
            item.add_marker(pytest.mark.skip(reason=f"no system {', '.join(sorted(missing))}"))


def _needed_by_file(text: str) -> set[str]:
    """The systems that the ``pytestmark`` of a test file names."""
    marks = [
        node
        for statement in ast.parse(text).body
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "pytestmark"
        for node in ast.walk(statement.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "needs_system"
    ]
    return {argument.value for mark in marks for argument in mark.args if isinstance(argument, ast.Constant)}


def _systems() -> set[str]:
    from polymeter.core.names.systems import systems

    return {system.name for system in systems()}


@pytest.fixture(autouse=True)
def _secrets_of_one_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process remembers every secret that it was given; the words that one test calls secret are none in the next."""
    from polymeter.core.text import secrets

    if hasattr(secrets, "_Known"):  # `make regressions` runs this with an earlier package too
        monkeypatch.setattr(secrets, "_KNOWN", secrets._KnownSecrets())


def pytest_unconfigure() -> None:
    """Remove what this process wrote; each worker of pytest-xdist has its own folder."""
    shutil.rmtree(_session_dir, ignore_errors=True)
