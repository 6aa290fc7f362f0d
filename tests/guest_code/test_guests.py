"""Guest code: loaded once per file, isolated per folder, leaving nothing behind."""

import os
import pickle
import sys
import textwrap
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

from polymeter.core.errors import PlanError
from polymeter.guests import FunctionRef, contained, resolve
from polymeter.guests.contain import without_chatter


def ref(folder: Path, name: str) -> FunctionRef:
    module, _, attribute = name.rpartition(".")
    return FunctionRef(module, attribute, folder, folder / "t.yaml", 3)


def write(folder: Path, **modules: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))
    return folder


def test_functions_of_one_file_share_one_module(tmp_path):
    folder = write(tmp_path, utils="seen = []\ndef add(x):\n    seen.append(x)\ndef count():\n    return len(seen)\n")
    resolve(ref(folder, "utils.add"))(1)
    assert resolve(ref(folder, "utils.count"))() == 1


def test_two_folders_with_their_own_utils_never_see_each_other(tmp_path):
    code = """
    import sys, os
    sys.path.insert(0, os.path.dirname(__file__))
    from helper import *
    def get():
        return NAME
    """
    one = write(tmp_path / "one", utils=code, helper="NAME = 'one'\n")
    two = write(tmp_path / "two", utils=code, helper="NAME = 'two'\n")
    before = list(sys.path)
    assert resolve(ref(one, "utils.get"))() == "one"
    assert resolve(ref(two, "utils.get"))() == "two"
    assert sys.path == before
    assert "helper" not in sys.modules
    assert "utils" not in sys.modules


def test_a_neighbour_is_importable_late_inside_a_function(tmp_path):
    one = write(tmp_path / "one", utils="def get():\n    import late\n    return late.X\n", late="X = 1\n")
    two = write(tmp_path / "two", utils="def get():\n    from late import X\n    return X\n", late="X = 2\n")
    first, second = resolve(ref(one, "utils.get")), resolve(ref(two, "utils.get"))
    assert (first(), second(), first()) == (1, 2, 1)
    assert "late" not in sys.modules


def test_a_folder_put_on_the_path_counts_for_imports_inside_functions(tmp_path):
    code = """
    import sys, os
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "lib"))
    def get():
        import helper
        from helper import NAME
        return helper.NAME, NAME
    """
    before = list(sys.path)
    for name in ("one", "two"):
        folder = write(tmp_path / name, utils=code)
        write(folder / "lib", helper=f"NAME = {name!r}\n")
        assert resolve(ref(folder, "utils.get"))() == (name, name)
    assert sys.path == before
    assert "helper" not in sys.modules


def test_a_folder_that_a_function_puts_on_the_path_counts_for_its_own_imports(tmp_path, monkeypatch):
    code = """
    import sys, os
    def get():
        sys.path.insert(0, os.path.join(os.path.dirname(__file__), "lib"))
        import helper
        return helper.NAME
    """
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("one", "two"):
        write(tmp_path / name / "lib", helper=f"NAME = {name!r}\n")
        write(tmp_path / name, utils=code)
    first, second = (resolve(ref(tmp_path / name, "utils.get")) for name in ("one", "two"))
    assert [first(), second(), first(), second()] == ["one", "two", "one", "two"]
    assert "helper" not in sys.modules


def test_relative_imports_between_task_files_work(tmp_path):
    folder = write(
        tmp_path / "f",
        utils="from .other import X\nfrom . import other\ndef get():\n    return X, other.X\n",
        other="X = 5\n",
    )
    assert resolve(ref(folder, "utils.get"))() == (5, 5)


def test_relative_import_from_the_parent_folder(tmp_path):
    write(tmp_path / "shared", tools="X = 7\n")
    folder = write(tmp_path / "f", utils="from ..shared.tools import X\ndef get():\n    return X\n")
    assert resolve(ref(folder, "utils.get"))() == 7


def test_a_parent_folder_put_on_the_path_is_found(tmp_path):
    write(tmp_path, common="X = 9\n")
    code = """
    import os, sys
    sys.path.append(os.path.join(os.path.dirname(__file__), '..'))
    import common
    def get():
        return common.X
    """
    assert resolve(ref(write(tmp_path / "f", utils=code), "utils.get"))() == 9


def test_a_package_in_the_folder_and_its_own_imports(tmp_path):
    write(tmp_path / "f" / "inner", __init__="", score="import base\ndef get():\n    return base.X\n")
    folder = write(tmp_path / "f", utils="from inner.score import get\nimport inner.score\n", base="X = 3\n")
    assert resolve(ref(folder, "utils.get"))() == 3
    assert resolve(ref(folder, "inner.score.get"))() == 3


def test_a_neighbour_does_not_hide_an_installed_package(tmp_path):
    folder = write(
        tmp_path,
        utils="import yaml, json\ndef get():\n    return yaml.safe_load('1'), json.dumps(1)\n",
        yaml="x=1\n",
        json="x=1\n",
    )
    assert resolve(ref(folder, "utils.get"))() == (1, "1")


def test_a_file_literally_named_with_a_dot_comes_first(tmp_path):
    write(tmp_path / "utils", sub="def get():\n    return 'nested'\n")
    assert resolve(ref(tmp_path, "utils.sub.get"))() == "nested"
    (tmp_path / "utils.sub.py").write_text("def get():\n    return 'literal'\n")
    assert resolve(ref(tmp_path, "utils.sub.get"))() == "literal"


def test_a_dotted_module_falls_back_to_an_installed_package(tmp_path):
    import yaml.reader

    assert resolve(ref(tmp_path, "yaml.reader.Reader")) is yaml.reader.Reader


def test_python_own_modules_are_not_called(tmp_path):
    with pytest.raises(PlanError, match=r"There is no os/path\.py|There is no os\.path\.py"):
        resolve(ref(tmp_path, "os.path.join"))


def test_an_edited_folder_is_loaded_anew(tmp_path):
    folder = write(tmp_path, utils="def get():\n    return 1\n")
    assert resolve(ref(folder, "utils.get"))() == 1
    write(tmp_path, utils="def get():\n    return 22\n")
    assert resolve(ref(folder, "utils.get"))() == 22


def test_side_effects_are_contained_but_added_environment_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("PM_OLD", "mine")
    monkeypatch.delenv("PM_NEW", raising=False)
    code = """
    import os, random, socket, warnings
    os.environ["PM_OLD"] = "theirs"
    os.environ["PM_NEW"] = "added"
    socket.setdefaulttimeout(3)
    warnings.simplefilter("ignore")
    random.seed(0)
    os.chdir("/")
    def get():
        return 1
    """
    import random
    import socket

    filters, state, folder = list(warnings.filters), random.getstate(), Path.cwd()
    resolve(ref(write(tmp_path, utils=code), "utils.get"))
    assert os.environ["PM_OLD"] == "mine"
    assert os.environ["PM_NEW"] == "added"
    assert socket.getdefaulttimeout() is None
    assert list(warnings.filters) == filters
    assert random.getstate() == state
    assert Path.cwd() == folder


def test_a_loguru_without_the_inside_that_is_known_keeps_what_a_guest_has_set(monkeypatch):
    sinks = []
    logger = SimpleNamespace(add=sinks.append, remove=sinks.remove)
    monkeypatch.setitem(sys.modules, "loguru", SimpleNamespace(logger=logger))
    with contained(), without_chatter():
        logger.add("guest")
    assert sinks == ["guest"]


def test_a_module_that_is_loading_stays_when_others_are_forgotten(tmp_path):
    code = """
    import sys
    from polymeter.guests.held import forget_modules
    import helper
    forget_modules()
    stays = __name__ in sys.modules
    def get():
        return stays, helper.__name__ in sys.modules
    """
    assert resolve(ref(write(tmp_path, utils=code, helper=""), "utils.get"))() == (True, False)
    dotted = write(tmp_path / "dotted", **{"utils.sub": code, "helper": ""})
    assert resolve(FunctionRef("utils.sub", "get", dotted, dotted / "t.yaml", 3))() == (True, False)


def test_a_missing_package_is_named_with_its_pip_name(tmp_path):
    folder = write(tmp_path, utils="import cv2_not_there\n")
    with pytest.raises(PlanError, match="pip install cv2_not_there") as info:
        resolve(ref(folder, "utils.get"))
    assert "utils.py:1" in str(info.value)
    assert "t.yaml:3" in str(info.value)


def test_a_failing_module_is_blamed_on_its_line(tmp_path):
    folder = write(tmp_path, utils="x = 1\nraise ValueError('broken')\n")
    with pytest.raises(PlanError, match=r"broken.*utils\.py:2"):
        resolve(ref(folder, "utils.get"))


def test_a_missing_function_or_module_names_the_nearest(tmp_path):
    folder = write(tmp_path, utils="def doc_to_text(doc):\n    return 1\n")
    with pytest.raises(PlanError, match="'doc_to_text'"):
        resolve(ref(folder, "utils.doc_to_txt"))
    with pytest.raises(PlanError, match="'utils'"):
        resolve(ref(folder, "util.doc_to_text"))


def test_a_reference_is_plain_data_until_it_is_called(tmp_path):
    folder = write(tmp_path, utils="raise SystemExit\n")
    reference = ref(folder, "utils.get")
    assert pickle.loads(pickle.dumps(reference)) == reference
    with pytest.raises(PlanError, match="SystemExit"):
        reference()
