"""The packages that are installed, and the commands that install missing ones on this machine.

Polymeter itself is installed by its name once a package index has it (``IS_RELEASED``), and from its clone before. The
``pip`` that a shell finds may belong to another Python than the one that needs the package.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

IS_RELEASED = False
"""True once a package index has Polymeter, so that pip installs it by name.

Messages follow this setting at once. The pages follow it when ``python -m scripts.install_commands`` has written their
commands again; a test compares them.
"""

_REQUIREMENT = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(?P<rest>[^;]*);.*\bextra\s*==\s*['\"](?P<extra>[^'\"]+)['\"]")
_PIP_NAMES = {
    "antlr4": "antlr4-python3-runtime",
    "azure.identity": "azure-identity",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "fitz": "pymupdf",
    "google.genai": "google-genai",
    "google.generativeai": "google-generativeai",
    "Levenshtein": "python-Levenshtein",
    "more_itertools": "more-itertools",
    "PIL": "pillow",
    "pptx": "python-pptx",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""Pip's names of packages whose importable name pip does not know."""


def pip_name(module: str) -> str:
    """Return pip's name of the package with an importable name."""
    top = module.partition(".")[0]
    return _PIP_NAMES.get(module, _PIP_NAMES.get(top, top))


def installed_version(package: str) -> str | None:
    """The version of an installed package; ``None`` if it is not installed.

    The same as that of ``importlib.metadata.version``, which parses all of a package's metadata for it: often its whole
    README.
    """
    from importlib import metadata

    try:
        found = metadata.distribution(package)
    except metadata.PackageNotFoundError:
        return None
    fields = (found.read_text("METADATA") or "").partition("\n\n")[0].splitlines()
    version = next((field for field in fields if field.lower().startswith("version:")), None)
    return found.version if version is None else version.partition(":")[2].strip()


def extra_packages(extra: str) -> list[str]:
    """The packages that an extra of Polymeter brings; none if Polymeter itself is not installed."""
    return packages_by_extra().get(extra, [])


def packages_by_extra() -> dict[str, list[str]]:
    """The packages that each extra of Polymeter brings; none if Polymeter itself is not installed. Every call parses
    all of Polymeter's metadata.
    """
    found: dict[str, list[str]] = {}
    for match in _requirements():
        found.setdefault(match["extra"], []).append(match["name"])
    return found


def _requirements() -> Iterator[re.Match[str]]:
    """Yield what the extras of Polymeter require, from its metadata."""
    from importlib import metadata

    try:
        required = metadata.requires("polymeter") or []
    except metadata.PackageNotFoundError:
        return
    yield from filter(None, map(_REQUIREMENT.match, required))


def pip_install(*packages: str, extra: str = "") -> str:
    """Return the command that installs packages, or an extra of Polymeter, for the Python that is running.

    Args:
        packages: The packages; options of pip may be among them.
        extra: An extra of Polymeter to install too, or several separated by commas.
    """
    words = ["pip", "install"] if _is_beside_python(shutil.which("pip")) else [_shown_python(), "-m", "pip", "install"]
    if extra:
        words += _extra_words(extra)
    return " ".join([*words, *map(shlex.quote, packages)])


def _extra_words(extra: str) -> list[str]:
    """Return what pip is to install for an extra, or several separated by commas."""
    # Quoted always: brackets are patterns to some shells.
    if (clone := clone_folder()) is not None:
        return ["-e", f"'{_shown_folder(clone)}[{extra}]'"]
    if IS_RELEASED:
        return [f"'polymeter[{extra}]'"]
    # Installed from a clone that is not known here: the packages of the extra are on the index, Polymeter is not.
    wanted = extra.split(",")
    packages = [found["name"] + found["rest"].strip() for found in _requirements() if found["extra"] in wanted]
    return [shlex.quote(package) for package in dict.fromkeys(packages)]


def python_command() -> str:
    """Return the shell command of the Python that is running."""
    return "python" if _is_beside_python(shutil.which("python")) else _shown_python()


def polymeter_command() -> str:
    """Return the shell command of Polymeter as it is installed here."""
    if _is_beside_python(shutil.which("polymeter")):
        return "polymeter"
    script = Path(sys.executable).with_name("polymeter")
    return _shell_path(str(script)) if script.is_file() else f"{python_command()} -m polymeter"


def clone_folder() -> Path | None:
    """The clone of the repository that Polymeter runs from; ``None`` if it is installed as a package."""
    folder = Path(__file__).resolve().parents[4]
    return folder if (folder / "src" / "polymeter").is_dir() and (folder / "pyproject.toml").is_file() else None


def _is_beside_python(program: str | None) -> bool:
    """Return true if a program on the search path belongs to the Python that is running."""
    return program is not None and Path(program).parent == Path(sys.executable).parent


def _shown_python() -> str:
    """The path of this Python, from the working directory where that is shorter. Links stay: they make the venv."""
    return _shell_path(sys.executable) if sys.executable else "python"


def _shell_path(path: str) -> str:
    relative = os.path.relpath(path)
    return shlex.quote(path if relative.startswith(os.pardir) else relative)


def _shown_folder(folder: Path) -> str:
    here = Path.cwd().resolve()
    if folder == here:
        return "."
    return f"./{folder.relative_to(here).as_posix()}" if here in folder.parents else str(folder)
