"""Which packages are installed, and advice about missing ones: the command that installs them where it is said.

``pip install 'polymeter[hf]'`` needs a published release; a clone is installed from its folder. And the ``pip`` that a
shell finds may belong to another Python than the one that misses the package.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

_REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)[^;]*;.*\bextra\s*==\s*['\"]([^'\"]+)['\"]")
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
"""What pip calls packages whose importable name it does not know."""


def pip_name(module: str) -> str:
    """What pip calls the package of an importable name."""
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
    from importlib import metadata

    try:
        required = metadata.requires("polymeter") or []
    except metadata.PackageNotFoundError:
        return {}
    found: dict[str, list[str]] = {}
    for match in filter(None, map(_REQUIREMENT.match, required)):
        found.setdefault(match[2], []).append(match[1])
    return found


def pip_install(*packages: str, extra: str = "") -> str:
    """The command that installs packages, or an extra of Polymeter, for the Python that is running.

    Args:
        packages: What pip is to install; options of pip may be among them.
        extra: The extra of Polymeter to install besides.
    """
    words = ["pip", "install"] if _is_beside_python(shutil.which("pip")) else [_shown_python(), "-m", "pip", "install"]
    if extra:
        clone = clone_folder()
        # Quoted always: brackets are patterns to some shells.
        words += [f"'polymeter[{extra}]'"] if clone is None else ["-e", f"'{_shown_folder(clone)}[{extra}]'"]
    return " ".join([*words, *map(shlex.quote, packages)])


def python_command() -> str:
    """How a shell calls the Python that is running."""
    return "python" if _is_beside_python(shutil.which("python")) else _shown_python()


def polymeter_command() -> str:
    """How a shell calls Polymeter as it is installed here."""
    if _is_beside_python(shutil.which("polymeter")):
        return "polymeter"
    script = Path(sys.executable).with_name("polymeter")
    return _shell_path(str(script)) if script.is_file() else f"{python_command()} -m polymeter"


def clone_folder() -> Path | None:
    """The clone of the repository that Polymeter runs from; ``None`` if it is installed as a package."""
    folder = Path(__file__).resolve().parents[4]
    return folder if (folder / "src" / "polymeter").is_dir() and (folder / "pyproject.toml").is_file() else None


def _is_beside_python(program: str | None) -> bool:
    """Whether a program on the search path belongs to the Python that is running."""
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
