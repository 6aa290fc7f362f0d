"""Which files a guest's code is made of."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

import polymeter
from polymeter.guests.reading import sources


def _checkout(folder: Path, n: int = 6) -> list[Path]:
    """Benchmarks that import each other's files, as those of a checkout do."""
    package = folder / "checkout"
    package.mkdir()
    (package / "__init__.py").write_text("import os\n")
    (package / "shared.py").write_text("from . import helper\nimport json\n")
    (package / "helper.py").write_text("")
    for number in range(n):
        (package / f"b{number}_adapter.py").write_text(
            f"from .shared import x\nfrom checkout import b{(number + 1) % n}_adapter\n"
        )
    return sorted(package.glob("*_adapter.py"))


def test_the_files_of_a_checkout_are_parsed_once_for_all_of_its_benchmarks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = _checkout(tmp_path)
    parsed: list[int] = []
    parse = ast.parse
    monkeypatch.setattr(sources.ast, "parse", lambda *given, **named: parsed.append(1) or parse(*given, **named))
    found = [sources.files_behind([file]) for file in files]
    assert [len(one) for one in found] == [9] * 6
    assert len(parsed) == 9


def test_a_file_that_changed_and_one_that_appeared_are_seen(tmp_path: Path) -> None:
    first, *_ = _checkout(tmp_path, 1)
    before = sources.files_behind([first])
    first.write_text("from . import later\n")
    os.utime(first, ns=(1, 1))
    assert sources.files_behind([first]) == (tmp_path / "checkout/__init__.py", first)
    (tmp_path / "checkout/later.py").write_text("")
    assert sources.files_behind([first]) == (tmp_path / "checkout/__init__.py", first, tmp_path / "checkout/later.py")
    assert before != sources.files_behind([first])


def test_polymeter_itself_is_no_part_of_a_benchmark_that_comes_with_it() -> None:
    """Else a benchmark in a checkout is made of hundreds of files, which take seconds to read."""
    package = Path(polymeter.__file__).parent
    found = sources.files_behind([package / "library" / "shapes" / "detector.py"])
    assert package / "library" / "shapes" / "drawing.py" in found
    assert {file.relative_to(package).parts[0] for file in found} == {"__init__.py", "library"}


@pytest.mark.needs_system("ulmeval")
def test_what_shims_replace_in_a_copy_of_a_tool_is_no_part_of_a_benchmark(tmp_path: Path) -> None:
    """Else a benchmark of VLMEvalKit is made of the whole checkout, and changes with any of its files."""
    package = tmp_path / "copy/vlmeval"
    texts = {
        "__init__.py": "from .smp import *\nfrom .models import everything\n",
        "models.py": "everything = 1\n",
        "smp/__init__.py": "from .file import *\n",
        "smp/file.py": "from ..models import everything\n",
        "dataset/__init__.py": "from .mine import Mine\nfrom .other import Other\n",
        "dataset/other.py": "",
        "dataset/image_base.py": "from ..smp import *\n",
        "dataset/mine.py": "from vlmeval.smp import load\nfrom . import build_dataset\n"
        "from .image_base import ImageBaseDataset\nfrom vlmeval.dataset.extra import helper\n"
        "from .utils import build_judge\nfrom .utils.mine import score\n",
        "dataset/extra.py": "",
        "dataset/utils/__init__.py": "from .heavy import x\n",
        "dataset/utils/heavy.py": "",
        "dataset/utils/mine.py": "",
    }
    for name, text in texts.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    found = sources.files_behind([package / "dataset/mine.py"])
    assert [file.relative_to(package).as_posix() for file in found] == [
        "dataset/extra.py",
        "dataset/mine.py",
        "dataset/utils/mine.py",
    ]
