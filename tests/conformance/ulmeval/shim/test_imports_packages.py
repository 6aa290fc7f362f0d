"""A file's folder and its checkout give what a real package would give: names of ``__init__``, stars, siblings."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import textwrap
from pathlib import Path

import pytest

from polymeter.core.names.systems import import_roots
from polymeter.guests.door import in_mode
from polymeter.guests.held import forget_modules
from polymeter.guests.shims.finder import switch_on_shims
from polymeter.interop.ulmeval.guest_files import load_guest_file
from polymeter.interop.ulmeval.shim.ulmeval.datasets import _catalog_of
from polymeter.tasks.table.base import TextBaseDataset


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder


@pytest.mark.parametrize("root", sorted(import_roots()))
def test_asking_for_a_module_that_is_not_there_gives_none(root: str) -> None:
    switch_on_shims()
    packages = [
        root,
        *(name for name in sys.modules if name.startswith(f"{root}.") and hasattr(sys.modules[name], "__path__")),
    ]
    for package in packages:
        importlib.import_module(package)
        assert importlib.util.find_spec(f"{package}.nobody_wrote_this") is None
    with pytest.raises(ModuleNotFoundError, match="stand-in for"):
        importlib.import_module(f"{root}.nobody_wrote_this")


@pytest.mark.parametrize("name", ["ulmeval.dataset.utils.wise", "vlmeval.dataset.utils.bleu", "ulmeval.ulm.flux"])
def test_asking_for_a_published_module_gives_none(name: str) -> None:
    switch_on_shims()
    assert importlib.util.find_spec(name) is None
    assert importlib.util.find_spec("ulmeval.dataset.utils.judge_util") is not None


def test_a_file_asks_before_it_imports(tmp_path: Path) -> None:
    code = """
        import importlib.util
        if importlib.util.find_spec('ulmeval.dataset.utils.wise') is not None:
            from ulmeval.dataset.utils.wise import parse_score_dict
        else:
            parse_score_dict = None
    """
    assert load_guest_file(write(tmp_path, {"mine.py": code}) / "mine.py").parse_score_dict is None


def test_names_of_the_folders_own_init(tmp_path: Path) -> None:
    files = {
        "__init__.py": "from .words import GREETING\nVERSION = 3\n",
        "words.py": "GREETING = 'hello'\n",
        "mine.py": "from . import GREETING, VERSION, words\nfrom . import build_judge\n",
    }
    module = load_guest_file(write(tmp_path / "bench", files) / "mine.py")
    assert (module.GREETING, module.VERSION, module.words.GREETING) == ("hello", 3, "hello")
    assert callable(module.build_judge)


def test_an_init_that_imports_the_file_that_asks_for_it(tmp_path: Path) -> None:
    files = {
        "__init__.py": "LIMIT = 5\nfrom .mine import Mine\n",
        "mine.py": "from . import LIMIT\nclass Mine: limit = LIMIT\n",
    }
    assert load_guest_file(write(tmp_path / "bench", files) / "mine.py").Mine.limit == 5


def test_a_star_of_the_folders_own_init(tmp_path: Path) -> None:
    files = {
        "__init__.py": "__all__ = ['LIMIT']\nLIMIT = 5\nhidden = 1\n",
        "mine.py": "from . import *\nmissing = 'hidden' not in globals()\n",
    }
    module = load_guest_file(write(tmp_path / "bench", files) / "mine.py")
    assert module.LIMIT == 5
    assert module.missing


def test_the_parents_init(tmp_path: Path) -> None:
    files = {
        "bench/__init__.py": "LIMIT = 5\n",
        "bench/inner/mine.py": "from .. import LIMIT\n",
    }
    assert load_guest_file(write(tmp_path, files) / "bench" / "inner" / "mine.py").LIMIT == 5


def test_an_init_is_run_anew_after_a_run(tmp_path: Path) -> None:
    files = {
        "__init__.py": "SEEN = []\n",
        "mine.py": "from . import SEEN\nSEEN.append(1)\n",
    }
    file = write(tmp_path / "bench", files) / "mine.py"
    assert load_guest_file(file).SEEN == [1]
    forget_modules()
    assert load_guest_file(file).SEEN == [1]


def test_a_star_of_the_dataset_package(tmp_path: Path) -> None:
    code = """
        from ulmeval.dataset import *

        class Mine(TextBaseDataset):
            DATASET_URL = {'Mine': ''}
            judge = staticmethod(build_judge)
    """
    _catalog_of.cache_clear()  # as in a new process, where the star looks through the catalog
    module = load_guest_file(write(tmp_path, {"mine.py": code}) / "mine.py")
    assert issubclass(module.Mine, TextBaseDataset)
    assert module.DEBUG_MESSAGE


CHECKOUT = {
    "repo/ulmeval/smp/__init__.py": "",
    "repo/ulmeval/__init__.py": "",
    "repo/ulmeval/dataset/__init__.py": "from .theirs import Theirs\n__all__ = ['Theirs', 'build_dataset']\n",
    "repo/ulmeval/dataset/theirs.py": """
        from .text_base import TextBaseDataset
        class Theirs(TextBaseDataset):
            DATASET_URL = {'Theirs': ''}
    """,
    "repo/ulmeval/extra/__init__.py": "",
    "repo/ulmeval/extra/deep/tools.py": "from ...smp import osp\nNAME = osp.join('a', 'b')\n",
    "repo/painter/__init__.py": "from .brush import stroke\n",
    "repo/painter/brush.py": "stroke = 'stroke'\n",
    "repo/knobs.py": "SIZE = 7\n",
}


def test_a_star_of_the_dataset_package_of_a_checkout(tmp_path: Path) -> None:
    code = "from ulmeval.dataset import *\nclass Mine(Theirs): pass\n"
    folder = write(tmp_path, {**CHECKOUT, "repo/ulmeval/dataset/mine.py": code})
    module = load_guest_file(folder / "repo/ulmeval/dataset/mine.py")
    assert issubclass(module.Mine, TextBaseDataset)


@pytest.mark.parametrize(
    "code",
    [
        "from painter import stroke\n",
        "import painter\nstroke = painter.stroke\n",
        "def late():\n    from painter.brush import stroke\n    return stroke\n",
    ],
)
def test_a_wrapper_that_imports_a_package_beside_its_checkout(tmp_path: Path, code: str) -> None:
    wrapper = f"from .base import BaseModel\nfrom knobs import SIZE\n{code}"
    folder = write(tmp_path, {**CHECKOUT, "repo/ulmeval/ulm/mine.py": wrapper})
    module = load_guest_file(folder / "repo/ulmeval/ulm/mine.py")
    with in_mode("model"):
        stroke = module.late() if hasattr(module, "late") else module.stroke
    assert (stroke, module.SIZE) == ("stroke", 7)
    assert "painter" not in sys.modules


@pytest.mark.parametrize(
    "code",
    [
        "from ulmeval.extra.deep.tools import NAME\n",
        "from ..extra.deep.tools import NAME\n",
        "from ulmeval.extra.deep import tools\nNAME = tools.NAME\n",
        "import ulmeval.extra.deep.tools as tools\nNAME = tools.NAME\n",
        "import ulmeval.extra.deep.tools\nNAME = ulmeval.extra.deep.tools.NAME\n",
    ],
)
def test_a_wrapper_that_imports_another_package_of_its_checkout(tmp_path: Path, code: str) -> None:
    folder = write(tmp_path, {**CHECKOUT, "repo/ulmeval/ulm/mine.py": f"from .base import BaseModel\n{code}"})
    assert load_guest_file(folder / "repo/ulmeval/ulm/mine.py").NAME == "a/b"
