"""Files from anywhere are imported as if they stood in the package that they were written for."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from polymeter.core.errors import PlanError
from polymeter.guests.reading.sources import files_behind
from polymeter.interop.ulmeval import SYSTEM
from polymeter.interop.ulmeval.guest_files import load_guest_file
from polymeter.interop.ulmeval.models.base import BaseAPI, BaseModel
from polymeter.interop.ulmeval.models.native import supported_ULM

DATASET = """
    import pandas as pd
    from abc import abstractmethod
    from .text_base import TextBaseDataset
    from ..smp import *
    from ..utils import track_progress_rich
    from .utils import build_judge, DEBUG_MESSAGE

    class Small(TextBaseDataset):
        TYPE = 'T2I'
        DATASET_URL = {'Small': ''}
        used = (osp.join('a', 'b'), toliststr("['x']"), get_rank_and_world_size())
"""


@pytest.fixture(autouse=True)
def _same_models() -> Iterator[None]:
    before = set(supported_ULM)
    yield
    for name in set(supported_ULM) - before:
        del supported_ULM[name]


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder


def test_a_dataset_class_with_relative_imports(tmp_path: Path) -> None:
    from polymeter.tasks.table.base import TextBaseDataset

    module = load_guest_file(write(tmp_path, {"small.py": DATASET}) / "small.py")
    assert issubclass(module.Small, TextBaseDataset)
    assert module.Small.used == ("a/b", ["x"], (0, 1))
    assert module.track_progress_rich(str, [1, 2]) == ["1", "2"]


def test_a_model_with_relative_imports_adds_itself(tmp_path: Path) -> None:
    code = """
        from functools import partial
        from .base import BaseModel
        from ..smp import splitlen, listinstr
        from ..dataset import DATASET_TYPE
        from ..config import supported_ULM

        class Mine(BaseModel):
            def generate_inner(self, message, dataset=None):
                return splitlen('a/b')

        supported_ULM['Mine-1B'] = partial(Mine)
        supported_ULM.update({'Mine-7B': Mine})
    """
    module = load_guest_file(write(tmp_path, {"mine.py": code}) / "mine.py")
    assert issubclass(module.Mine, BaseModel)
    assert isinstance(supported_ULM["Mine-1B"](), module.Mine)
    assert "Mine-7B" in supported_ULM


def test_base_of_an_endpoint_and_base_of_a_model_are_told_by_what_is_imported(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "from .base import BaseAPI\n", "b.py": "from .base import BaseModel\n"})
    assert load_guest_file(tmp_path / "a.py").BaseAPI is BaseAPI
    assert load_guest_file(tmp_path / "b.py").BaseModel is BaseModel


def test_a_file_of_the_older_package_is_told_by_what_it_names(tmp_path: Path) -> None:
    from polymeter.interop.ulmeval.shim.vlmeval.base import BaseModel as Older

    write(
        tmp_path,
        {"a.py": "from .base import BaseModel\nfrom vlmeval.smp import listinstr\nfrom ..smp.vlm import isimg\n"},
    )
    write(tmp_path / "vlmeval" / "vlm", {"b.py": "from .base import BaseModel\nfrom ..smp import *\nused = md5('')\n"})
    assert load_guest_file(tmp_path / "a.py").BaseModel is Older
    assert load_guest_file(tmp_path / "vlmeval" / "vlm" / "b.py").BaseModel is Older


def test_a_model_of_the_older_package_answers_with_one_text() -> None:
    from polymeter.interop.ulmeval.shim.vlmeval.base import BaseModel as Older

    class Mine(Older):
        def generate_inner(self, message: list[dict[str, str]], dataset: str | None = None) -> str:
            return message[0]["value"].upper()

    assert Mine().generate("yes") == "YES"
    assert Mine().generate("yes", num_generations=2) == ["YES", "YES"]


def test_neighbours_win(tmp_path: Path) -> None:
    files = {
        "mine.py": """
            from .text_base import TextBaseDataset
            from .helper import word
            from .utils.words import other
            from .utils import build_judge, words
            from ..shared import third
        """,
        "text_base.py": "class TextBaseDataset:\n    is_theirs = True\n",
        "helper.py": "from ..smp import osp\nword = osp.join('a', 'b')\n",
        "utils/words.py": "from ...smp import splitlen\nother = splitlen('a/b/c')\n",
        "../shared.py": "from .smp import listinstr\nthird = listinstr(['a'], 'ab')\n",
    }
    folder = write(tmp_path / "mine", files)
    module = load_guest_file(folder / "mine.py")
    assert module.TextBaseDataset.is_theirs
    assert (module.word, module.other, module.third) == ("a/b", 3, True)
    assert module.words.other == 3
    assert callable(module.build_judge)


def test_names_of_the_package_mean_files_that_lie_near(tmp_path: Path) -> None:
    files = {
        "mine.py": "from ulmeval.dataset.utils.mine import number\nfrom ulmeval.dataset.utils import build_judge\n"
        "from vlmeval.dataset.other import word\nimport ulmeval.dataset.other as other\n",
        "utils/mine.py": "from ulmeval.smp import load\nfrom .judge_util import build_judge\nnumber = 3\n",
        "other.py": "word = 'near'\n",
    }
    module = load_guest_file(write(tmp_path, files) / "mine.py")
    assert (module.number, module.word, module.other.word) == (3, "near", "near")
    assert [file.name for file in files_behind([tmp_path / "mine.py"])] == ["mine.py", "other.py", "mine.py"]


def test_a_file_one_folder_deeper(tmp_path: Path) -> None:
    code = """
        from ..text_base import TextBaseDataset
        from ..utils import build_judge
        from ..utils.judge_util import DEBUG_MESSAGE
        from ...smp import *
        from ...utils import track_progress_rich
        found = osp.basename('a/b')
    """
    assert load_guest_file(write(tmp_path, {"deep/mine.py": code}) / "deep" / "mine.py").found == "b"


def test_in_a_checkout_the_stand_ins_come_before_the_files_that_they_replace(tmp_path: Path) -> None:
    refused = "raise RuntimeError('the real one')\n"
    files = {
        "ulmeval/__init__.py": refused,
        "ulmeval/smp/__init__.py": refused,
        "ulmeval/api/__init__.py": refused,
        "ulmeval/dataset/__init__.py": refused,
        "ulmeval/dataset/text_base.py": refused,
        "ulmeval/dataset/utils/__init__.py": "from .judge_util import build_judge\nfrom .mplug import MPLUGModel\n",
        "ulmeval/dataset/utils/judge_util.py": refused,
        "ulmeval/dataset/utils/mplug.py": refused,
        "ulmeval/dataset/utils/score.py": "from ...smp import np\nfrom ulmeval.smp import load\nhalf = np.float64(0.5)",
        "ulmeval/dataset/small.py": DATASET + "        from .utils.score import half\n",
    }
    module = load_guest_file(write(tmp_path, files) / "ulmeval" / "dataset" / "small.py")
    assert module.Small.half == 0.5


def test_names_that_published_listings_do_not_import(tmp_path: Path) -> None:
    code = """
        class Small(TextBaseDataset):
            TYPE = 'T2I'
            frame = pd.DataFrame({'a': [1]})

            def evaluate(self, eval_file, **judge_kwargs):
                return load(eval_file)

        class Pictures(ImageBaseDataset):
            place = osp.join('a', 'b')

        class Model(BaseModel):
            def generate_inner(self, msgs, dataset=None):
                return Image.new('RGB', (2, 2))
    """
    module = load_guest_file(write(tmp_path, {"guide.py": code}) / "guide.py")
    assert module.Small.frame.shape == (1, 1)
    assert module.Model().generate("x")[0].size == (2, 2)
    assert not hasattr(module, "pd")


def test_what_a_file_defines_itself_wins_over_what_is_supplied(tmp_path: Path) -> None:
    write(tmp_path, {"mine.py": "def load(path):\n    return 'mine'\nfound = load('x')\n"})
    assert load_guest_file(tmp_path / "mine.py").found == "mine"


def test_two_folders_do_not_see_each_other(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, {"mine.py": "from .helper import word\n", "helper.py": f"word = {name!r}\n"})
    assert [load_guest_file(tmp_path / name / "mine.py").word for name in ("one", "two")] == ["one", "two"]


def test_a_relative_import_that_means_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"mine.py": "from .nowhere import word\n"})
    with pytest.raises(
        PlanError, match=r"\.nowhere is neither in .* nor in Polymeter's stand-in for ulmeval.*"
    ) as caught:
        load_guest_file(tmp_path / "mine.py")
    assert caught.value.where == f"{tmp_path / 'mine.py'}:1"


def test_a_name_that_the_stand_in_has_not(tmp_path: Path) -> None:
    write(tmp_path, {"mine.py": "from ..smp import no_such_helper\n"})
    with pytest.raises(PlanError, match="cannot import name 'no_such_helper'"):
        load_guest_file(tmp_path / "mine.py")


def test_a_package_that_is_not_installed(tmp_path: Path) -> None:
    write(tmp_path, {"mine.py": "import nowhere_to_be_found\n"})
    with pytest.raises(PlanError, match=r"'nowhere_to_be_found', needed by loading mine.py.*pip install"):
        load_guest_file(tmp_path / "mine.py")


def test_files_of_other_kinds_keep_their_meaning(tmp_path: Path) -> None:
    from polymeter.guests import load_file

    write(tmp_path, {"task.py": "from .text_base import TextBaseDataset\n"})
    with pytest.raises(ModuleNotFoundError, match="text_base"):
        load_file(tmp_path / "task.py")


def test_what_a_file_was_written_for() -> None:
    files = (b"from ulmeval.smp import *\n", b"def generate_inner(): ...\n", b"import os\n")
    assert [SYSTEM.scripts.recognise(file) for file in files] == [True, True, False]


def test_a_wrapper_that_is_called_like_the_package_that_it_wraps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "elsewhere", {"painter9/__init__.py": "", "painter9/pipelines.py": "made = 7"})
    monkeypatch.syspath_prepend(str(tmp_path / "elsewhere"))
    code = """
        from .base import BaseModel
        import painter9

        class Painter9(BaseModel):
            from painter9.pipelines import made
    """
    module = load_guest_file(write(tmp_path / "ulm", {"painter9.py": code}) / "painter9.py")
    assert module.Painter9.made == 7
    assert module.painter9.__name__ == "painter9"


def test_a_wrapper_of_a_package_that_is_missing_names_the_package(tmp_path: Path) -> None:
    code = "from .base import BaseModel\nfrom painter8.pipelines import made\n"
    with pytest.raises(PlanError, match="The package 'painter8'"):
        load_guest_file(write(tmp_path, {"painter8.py": code}) / "painter8.py")
