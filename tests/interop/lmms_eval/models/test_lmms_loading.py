"""Finding a wrapper, checking its arguments, constructing it."""

from __future__ import annotations

import sys
import textwrap
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.model import ModelTraits
from polymeter.interop.lmms_eval.models import LmmsModel, plugins
from polymeter.interop.lmms_eval.models.base import ModelManifest, lmms
from polymeter.interop.lmms_eval.models.loading import known_wrappers
from polymeter.interop.lmms_eval.models.making import LocalAccelerator
from tests.e2e.kit import capitals, polymeter
from tests.helpers.colours import COLOURS, answers, run_wrapper, wrapper_file
from tests.tasks.yaml.kit import write

ANSWERS = "def generate_until(self, requests):\n    return ['red'] * len(requests)\n"
TWO = """\
from lmms_eval.api.registry import register_model

@register_model("alpha", "beta")
class Alpha(lmms):
    pass

@register_model("gamma")
class Gamma(Alpha):
    is_simple = False
"""


def loaded(model: LmmsModel) -> Any:
    """The wrapper that a model makes."""
    model.load()
    return model._wrapper


def traits(tmp_path: Path, body: str) -> ModelTraits:
    return LmmsModel(path=str(wrapper_file(tmp_path, body))).traits


# --- finding ---------------------------------------------------------------------------------------------------------


def test_every_name_of_a_file_works(tmp_path: Path) -> None:
    path = str(write(tmp_path, {"two.py": TWO}) / "two.py")
    assert LmmsModel("alpha", path).traits.family == "alpha"
    assert LmmsModel("beta", path).identity["class"] == "Alpha"
    assert LmmsModel("Gamma", path).traits.kind == "chat"


@pytest.mark.parametrize(
    ("name", "what", "hint"),
    [
        ("betta", "has no model 'betta'", "Did you mean 'beta'"),
        ("zzzz", "has no model 'zzzz'", "It has: alpha, beta, gamma."),
        ("", "has several models: alpha, beta, gamma", "lmms:NAME"),
    ],
)
def test_a_name_that_is_not_there_or_not_clear(tmp_path: Path, name: str, what: str, hint: str) -> None:
    path = str(write(tmp_path, {"two.py": TWO}) / "two.py")
    with pytest.raises(PlanError, match=what) as caught:
        LmmsModel(name, path)
    assert hint in caught.value.hint


def test_a_plain_subclass_goes_by_its_own_name_and_a_base_is_not_meant(tmp_path: Path) -> None:
    code = "class Base(lmms):\n    pass\n\nclass Mine(Base):\n    pass\n"
    path = str(write(tmp_path, {"plain.py": code}) / "plain.py")
    assert LmmsModel(path=path).identity["name"] == "Mine"
    assert LmmsModel("Base", path).identity["name"] == "Base"


def test_what_a_file_defines_is_meant_before_what_it_imports(tmp_path: Path) -> None:
    talks = """\
    from lmms_eval.api.registry import MODEL_REGISTRY, register_model
    from simple import Eyes as SimpleEyes

    if "eyes_chat" in MODEL_REGISTRY:
        del MODEL_REGISTRY["eyes_chat"]

    @register_model("eyes_chat")
    class Eyes(SimpleEyes):
        is_simple = False
    """
    simple = "@register_model('eyes')\nclass Eyes(lmms):\n    pass\n"
    sees = "from simple import Eyes\n\n@register_model('better')\nclass Better(Eyes):\n    pass\n"
    folder = write(tmp_path, {"simple.py": simple, "chat.py": textwrap.dedent(talks), "better.py": sees})
    for name in ("", "eyes", "eyes_chat", "Eyes"):
        assert LmmsModel(name, str(folder / "chat.py")).traits.kind == "chat", "lmms-eval prefers it under one name"
    assert LmmsModel("eyes", str(folder / "better.py")).identity["class"] == "Eyes"
    assert LmmsModel("", str(folder / "better.py")).identity["class"] == "Better"


def test_in_a_tree_of_wrappers_only_the_file_of_the_name_is_loaded(tmp_path: Path) -> None:
    one = "@register_model('one')\nclass One(lmms):\n    pass\n"
    talks = (
        "from lmms_eval.models.simple.two import Two as Simple\n\n"
        "@register_model('two_chat')\nclass Two(Simple):\n    is_simple = False\n"
    )
    files = {
        "models/__init__.py": "AVAILABLE_SIMPLE_MODELS = {'one': 'One', 'two': 'Two', 'broken': 'Broken'}\n",
        "models/simple/one.py": one,
        "models/simple/two.py": one.replace("one", "two").replace("One", "Two"),
        "models/simple/broken.py": "import a_package_that_nobody_has\n",
        "models/chat/two.py": talks,
    }
    models = write(tmp_path, files) / "models"
    assert LmmsModel("one", str(models / "simple")).identity["class"] == "One"
    assert LmmsModel("one", str(models)).traits.kind == "simple"
    assert LmmsModel("two", str(models)).traits.kind == "chat"
    with pytest.raises(PlanError, match="'a_package_that_nobody_has'"):
        LmmsModel("broken", str(models))


CHECKOUT = {
    "lmms_eval/models/__init__.py": """\
from lmms_eval.models import MODEL_REGISTRY_V2
from lmms_eval.models.registry_v2 import ModelManifest

AVAILABLE_SIMPLE_MODELS = {"ours": "Ours"}
MODEL_REGISTRY_V2.register_manifest(
    ModelManifest(
        model_id="forked",
        simple_class_path="lmms_eval.models.simple.ours.Ours",
        chat_class_path="lmms_eval.models.chat.ours.Ours",
        aliases=("forked_too",),
    )
)
""",
    "lmms_eval/models/simple/ours.py": "from lmms_eval.api.model import lmms\nclass Ours(lmms):\n    "
    + ANSWERS.replace("\n    return", "\n        return"),
    "lmms_eval/models/chat/ours.py": (
        "from lmms_eval.models.simple.ours import Ours as Simple\nclass Ours(Simple):\n    is_simple = False\n"
    ),
    "lmms_eval/models/simple/broken.py": "import a_package_that_nobody_has\n",
}


def test_a_manifest_in_a_checkout_names_its_wrappers(tmp_path: Path) -> None:
    models = str(write(tmp_path, CHECKOUT) / "lmms_eval" / "models")
    for name in ("forked", "forked_too"):
        assert LmmsModel(name, models).traits.kind == "chat"
        assert LmmsModel(name, models, force_simple=True).traits.kind == "simple"
    assert LmmsModel("ours", models, force_simple=True).traits.kind == "simple"
    with pytest.raises(PlanError, match=r"has no model 'forkd'.*Did you mean 'forked'"):
        LmmsModel("forkd", models)


def test_the_command_line_in_a_checkout_means_its_wrappers_and_tasks(tmp_path: Path) -> None:
    write(tmp_path, CHECKOUT)
    capitals(tmp_path / "lmms_eval" / "tasks" / "capitals")
    words = ("--tasks", "capitals", "--output_path", "out", "--force_simple")
    for name in ("forked_too", "ours"):
        done = polymeter("python", "-m", "lmms_eval", "--model", name, *words, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "capitals" in done.stdout
    done = polymeter("python", "-m", "lmms_eval", "--model", "nobodys", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert "There is no model 'nobodys'" in done.stderr


def test_the_simple_one_of_two_wrappers_is_taken_by_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = "@register_model('both')\nclass Plain(lmms):\n    pass\n"
    both += "@register_model('both')\nclass Talks(lmms):\n    is_simple = False\n"
    path = str(write(tmp_path, {"both.py": both}) / "both.py")
    assert LmmsModel("both", path).identity["class"] == "Talks"
    assert LmmsModel("both", path, force_simple=True).identity["class"] == "Plain"
    assert LmmsModel("both", force_simple=True).identity["class"] == "Plain", "as registered in this process"
    head = "from lmms_eval.api.model import lmms\n"
    files = {
        "two_kinds/__init__.py": "",
        "two_kinds/models/__init__.py": "AVAILABLE_SIMPLE_MODELS = {'plugged': 'Plugged'}\n"
        "AVAILABLE_CHAT_TEMPLATE_MODELS = {'plugged': 'Plugged'}\n",
        "two_kinds/models/simple/__init__.py": "",
        "two_kinds/models/simple/plugged.py": f"{head}class Plugged(lmms):\n    pass\n",
        "two_kinds/models/chat/__init__.py": "",
        "two_kinds/models/chat/plugged.py": f"{head}class Plugged(lmms):\n    is_simple = False\n",
    }
    write(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LMMS_EVAL_PLUGINS", "two_kinds")
    assert LmmsModel("plugged").traits.kind == "chat"
    assert LmmsModel("plugged", force_simple=True).traits.kind == "simple"


def test_two_wrappers_of_one_kind_and_name_in_a_file_are_an_error(tmp_path: Path) -> None:
    code = "@register_model('same')\nclass One(lmms):\n    pass\n@register_model('same')\nclass Two(lmms):\n    pass\n"
    path = str(write(tmp_path, {"same.py": code}) / "same.py")
    with pytest.raises(PlanError, match=r"Two wrappers of same\.py are registered as 'same': One and Two"):
        LmmsModel("same", path)


def test_a_package_may_import_what_it_lists(tmp_path: Path) -> None:
    init = "LISTED = {'one': 'One'}\nfor name, cls in LISTED.items():\n    exec(f'from .{name} import {cls}')\n"
    one = "from mine.parts import base\n\n@register_model('one')\nclass One(base.Base):\n    pass\n"
    files = {"mine/__init__.py": init, "mine/one.py": one, "mine/parts/base.py": "class Base(lmms):\n    pass\n"}
    assert LmmsModel("one", str(write(tmp_path, files) / "mine")).identity["class"] == "One"


def test_a_file_without_a_model_and_a_place_that_is_not_there(tmp_path: Path) -> None:
    path = write(tmp_path, {"empty.py": "X = 1\n"}) / "empty.py"
    with pytest.raises(PlanError, match="defines no model"):
        LmmsModel(path=str(path))
    with pytest.raises(PlanError, match="There is no file, package or module") as caught:
        LmmsModel(path=str(tmp_path / "emty.py"))
    assert "'empty.py'" in caught.value.hint
    with pytest.raises(PlanError, match="Which wrapper is meant"):
        LmmsModel()
    with pytest.raises(PlanError, match="no lmms model 'nobody_has_this'"):
        LmmsModel("nobody_has_this")


def test_a_mistake_in_the_file_is_shown_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, {"wrong.py": "x = 1\ny = 1 / 0\n"}) / "wrong.py"
    with pytest.raises(PlanError, match="ZeroDivisionError") as caught:
        LmmsModel(path=str(path))
    assert caught.value.where == f"{path}:2"
    path.with_name("needs.py").write_text("import a_package_that_nobody_has\n")
    with pytest.raises(PlanError, match="'a_package_that_nobody_has'") as caught:
        LmmsModel(path=str(path.with_name("needs.py")))
    assert "pip install a_package_that_nobody_has" in caught.value.hint


def test_packages_with_relative_and_absolute_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "my_models/__init__.py": "from .inner.model import Mine\n",
        "my_models/shared.py": "WORD = 'red'\n",
        "my_models/inner/__init__.py": "",
        "my_models/inner/model.py": "from my_models.shared import WORD\nfrom ..shared import WORD as SAME\n"
        "class Mine(lmms):\n    def generate_until(self, requests):\n        return [WORD] * len(requests)\n",
    }
    write(tmp_path, files)
    whole = LmmsModel(path=str(tmp_path / "my_models"))
    assert whole.identity["name"] == "Mine"
    monkeypatch.chdir(tmp_path)
    dotted = LmmsModel(path="my_models.inner.model")
    assert dotted.identity["class"] == "Mine"
    (tmp_path / "my_models/shared.py").write_text("WORD = 'blue'\n")
    from polymeter.guests.held import forget_modules

    forget_modules()
    assert LmmsModel(path=str(tmp_path / "my_models")).identity != whole.identity


def test_a_file_beside_its_helpers(tmp_path: Path) -> None:
    files = {
        "models/__init__.py": "",
        "models/mine.py": "from .helper import WORD\nclass Mine(lmms):\n    " + "word = WORD\n",
        "models/helper.py": "from ..top import WORD\n",
        "top.py": "WORD = 'red'\n",
    }
    write(tmp_path, files)
    assert loaded(LmmsModel(path=str(tmp_path / "models/mine.py"))).word == "red"


def test_a_plug_in_package_brings_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = "from lmms_eval.api.model import lmms\n"
    files = {
        "plug_pkg/__init__.py": "",
        "plug_pkg/models/__init__.py": "AVAILABLE_MODELS = {'plugged': 'Plugged', 'dotted': 'plug_pkg.far.Far',"
        " 'lost': 'Lost'}\n",
        "plug_pkg/models/simple/__init__.py": "",
        "plug_pkg/models/simple/plugged.py": f"{head}class Plugged(lmms):\n    pass\n",
        "plug_pkg/far.py": f"{head}class Far(lmms):\n    is_simple = False\n",
    }
    write(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LMMS_EVAL_PLUGINS", "plug_pkg")
    assert {"plugged", "dotted"} <= set(known_wrappers())
    assert LmmsModel("plugged").identity["class"] == "Plugged"
    assert LmmsModel("dotted").traits.kind == "chat"
    with pytest.raises(PlanError, match="lists the model 'lost', but has no module for it"):
        LmmsModel("lost")
    with pytest.raises(PlanError, match="no lmms model 'pluged'") as caught:
        LmmsModel("pluged")
    assert "'plugged'" in caught.value.hint
    monkeypatch.setenv("LMMS_EVAL_PLUGINS", "no_such_package")
    with pytest.raises(PlanError, match=r"Loading the plug-in 'no_such_package\.models'"):
        LmmsModel("plugged")


class Pointed(lmms):
    """A wrapper that an entry point names."""


MANIFESTS = [ModelManifest("pointed", simple_class_path=f"{__name__}.Pointed", aliases=("aimed",))]


def test_a_wrapper_that_was_loaded_before_keeps_its_sources(tmp_path: Path) -> None:
    from polymeter.guests.held import forget_modules

    code = "from polymeter.core.errors import boundary\nfrom contextlib import contextmanager\n"
    code += f"@register_model('kept')\nclass Kept(lmms):\n    manage = contextmanager(boundary)\n    {ANSWERS}".replace(
        "\n    return", "\n        return"
    )
    path = write(tmp_path, {"kept.py": code}) / "kept.py"
    by_path = LmmsModel("kept", str(path)).identity
    forget_modules()
    again = LmmsModel("kept")
    assert again.identity == by_path
    assert again._found.sources == (path,), "what decorates its functions is no source of it"


def test_local_weights_stand_in_for_an_id_among_the_arguments(tmp_path: Path) -> None:
    from polymeter.core.model import ModelSpec
    from polymeter.run.plan.models import make_model

    spec = ModelSpec("lmms", "", {"pretrained": "org/x", "dtype": "auto"}, str(wrapper_file(tmp_path, TAKES)))
    made = make_model(spec, {"org/x": "/weights"})
    assert isinstance(made, LmmsModel)
    assert loaded(made).given == ("/weights", "auto", 1)


def test_entry_points_bring_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lmms_test_entry", sys.modules[__name__])
    point = EntryPoint("tests", "lmms_test_entry:MANIFESTS", plugins.GROUP)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point])
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    assert "aimed" in known_wrappers()
    assert LmmsModel("aimed").identity["class"] == "Pointed"
    assert LmmsModel("aimed", force_simple=True).identity["class"] == "Pointed"


# --- what a class tells ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stub",
    [
        "raise NotImplementedError('no')",
        "raise NotImplementedError",
        "pass",
        "...",
        "assert False, 'not for chat'",
        "'''Nothing.'''\nraise NotImplementedError",
    ],
)
def test_a_stub_is_no_ability(tmp_path: Path, stub: str) -> None:
    body = f"def loglikelihood(self, requests):\n    {stub}\n".replace("\nraise", "\n    raise")
    found = traits(tmp_path, ANSWERS + body)
    assert found.requests == {"generate_image": False, "loglikelihood": False}
    assert (found.is_foreign, found.drives_rounds, found.drives_stages) == (True, False, False)


def test_what_is_written_is_not_known_to_work_before_it_is_tried(tmp_path: Path) -> None:
    body = ANSWERS + "def loglikelihood(self, requests):\n    return [(0.0, True) for _ in requests]\n"
    body += "def generate_until_multi_round(self, requests):\n    return [['a'] for _ in requests]\n"
    body += "def generate_visual_cot(self, requests):\n    return ['a' for _ in requests]\n"
    found = traits(tmp_path, body)
    assert found.requests == {"generate_image": False}
    assert (found.drives_rounds, found.drives_stages) == (True, True)


def test_a_task_that_asks_for_what_a_wrapper_lacks_is_refused_at_planning(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="asks for 'loglikelihood', which model 'lmms' cannot do"):
        run_wrapper(tmp_path, "choices", wrapper_file(tmp_path, ANSWERS))


def test_a_wrapper_that_cannot_after_all_is_refused_by_the_first_question(tmp_path: Path) -> None:
    body = ANSWERS + "def loglikelihood(self, requests):\n    x = 1\n    raise NotImplementedError('only text')\n"
    path = wrapper_file(tmp_path, body)
    with pytest.raises(PlanError, match=r"cannot answer task 'choices'.*only text") as caught:
        run_wrapper(tmp_path, "choices", path)
    assert f"{path}:6" in caught.value.what


# --- arguments -------------------------------------------------------------------------------------------------------

TAKES = """\
def __init__(self, pretrained, dtype="auto", batch_size=1):
    self.given = (pretrained, dtype, batch_size)
"""


def test_arguments_are_checked_before_anything_is_constructed(tmp_path: Path) -> None:
    path = str(wrapper_file(tmp_path, TAKES + ANSWERS))
    with pytest.raises(PlanError, match="Wrapper 'Mine' has no argument 'pretraned'") as caught:
        LmmsModel(path=path, pretraned="x")
    assert caught.value.hint == "Did you mean 'pretrained'?"
    with pytest.raises(PlanError, match="Wrapper 'Mine' needs 'pretrained'") as caught:
        LmmsModel(path=path)
    assert caught.value.hint == "Give it with --model-args pretrained=…"
    with pytest.raises(PlanError, match="has no argument 'zz'") as caught:
        LmmsModel(path=path, zz=1, pretrained="x")
    assert caught.value.hint == "It takes: pretrained, dtype, batch_size."
    assert loaded(LmmsModel(path=path, pretrained="x")).given == ("x", "auto", 1)


@pytest.mark.parametrize("says", ["assert kwargs == {}, f'Unexpected: {kwargs}'", "assert not kwargs"])
def test_a_constructor_that_asserts_that_nothing_else_is_given_takes_nothing_else(tmp_path: Path, says: str) -> None:
    body = f"def __init__(self, pretrained='x', **kwargs):\n    {says}\n"
    path = str(wrapper_file(tmp_path, body + ANSWERS))
    with pytest.raises(PlanError, match="has no argument 'pretraned'"):
        LmmsModel(path=path, pretraned="x")
    assert loaded(LmmsModel(path=path)).rank == 0, "and no batch size either"


def test_arguments_are_handed_on_to_bases(tmp_path: Path) -> None:
    code = """\
class Base(lmms):
    def __init__(self, pretrained="x", batch_size=1):
        self.given = (pretrained, batch_size)

class Mine(Base):
    def __init__(self, extra=1, **kwargs):
        super().__init__(**kwargs)
"""
    path = str(write(tmp_path, {"bases.py": code}) / "bases.py")
    assert loaded(LmmsModel(path=path, pretrained="y")).given == ("y", 1)
    with pytest.raises(PlanError, match="'pretraned'") as caught:
        LmmsModel(path=path, pretraned="y")
    assert "'pretrained'" in caught.value.hint


def test_an_own_way_of_being_constructed_is_used(tmp_path: Path) -> None:
    code = """\
    def __init__(self, **kwargs):
        self.given = kwargs

    @classmethod
    def create_from_arg_string(cls, arg_string, additional_config=None):
        return cls(string=arg_string, config=additional_config)
    """
    made = loaded(LmmsModel(path=str(wrapper_file(tmp_path, code)), pretrained="org/x", device="cpu"))
    assert made.given["string"] == "pretrained=org/x"
    assert made.given["config"] == {"max_batch_size": None, "device": "cpu", "batch_size": 1}


# --- batch sizes -----------------------------------------------------------------------------------------------------

REFUSES = """\
def __init__(self, batch_size=1):
    self.batch_size_per_gpu = int(batch_size)
    assert self.batch_size_per_gpu == 1
"""


def test_a_wrapper_that_refuses_a_larger_batch_names_the_option(tmp_path: Path) -> None:
    path = wrapper_file(tmp_path, REFUSES + ANSWERS)
    with pytest.raises(PlanError, match=r"failed at: assert self\.batch_size_per_gpu == 1") as caught:
        run_wrapper(tmp_path, "colours", path, batch_size=4)
    assert caught.value.where == f"{path}:4"
    assert caught.value.hint == "It refuses batches of 4: run it with --batch-size 1."
    assert run_wrapper(tmp_path, "colours", path, output="one").exit_code == 0


@pytest.mark.parametrize(
    ("planned", "told", "size"), [(None, {}, 1), (4, {}, 4), (4, {"batch_size": 2}, 2), ("auto", {}, 1)]
)
def test_the_plans_batch_size_reaches_the_constructor(tmp_path: Path, planned: Any, told: Any, size: int) -> None:
    code = """\
    def __init__(self, batch_size=None):
        self.size = batch_size

    def generate_until(self, requests):
        return [str(self.size)] * len(requests)
    """
    options = {} if planned is None else {"batch_size": planned}
    result = run_wrapper(tmp_path, "colours", wrapper_file(tmp_path, code), model_args=told, **options)
    assert set(answers(result, "colours")) == {str(size)}


@pytest.mark.parametrize(
    ("told", "hint"),
    [({}, 128), ({"num_concurrent": 3}, 12), ({"num_concurrent": None}, 64), ({"batch_size": 5}, 5)],
)
def test_a_wrapper_that_asks_concurrently_by_itself_gets_many_at_once(
    tmp_path: Path, told: dict[str, Any], hint: int
) -> None:
    code = """\
    def __init__(self, num_concurrent=32, batch_size=1):
        self.size = batch_size

    """
    model = LmmsModel(path=str(wrapper_file(tmp_path, code)), **told)
    assert (model.batch_hint, loaded(model).size) == (hint, told.get("batch_size", 1))


def test_no_size_is_refused(tmp_path: Path) -> None:
    path = str(wrapper_file(tmp_path, "def __init__(self, batch_size=1):\n    pass\n"))
    with pytest.raises(PlanError, match="'many' is not a batch size"):
        LmmsModel(path=path, batch_size="many")


def test_a_constructor_that_fails_otherwise_is_shown_with_its_line(tmp_path: Path) -> None:
    path = wrapper_file(tmp_path, "def __init__(self, batch_size=1):\n    raise OSError('no weights here')\n" + ANSWERS)
    with pytest.raises(PlanError, match="Making the wrapper 'Mine' raised OSError: no weights here") as caught:
        run_wrapper(tmp_path, "colours", path, batch_size=2)
    assert (caught.value.where, caught.value.hint) == (f"{path}:3", "")


# --- what is set on a wrapper ----------------------------------------------------------------------------------------


def test_a_wrapper_that_calls_no_constructor_of_ours_has_everything(tmp_path: Path) -> None:
    code = """\
    def __init__(self):
        self.seen = (self.rank, self.world_size, self.task_dict)
        self.cache_hook.add_partial("generate_until", (), "")
    """
    made = loaded(LmmsModel(path=str(wrapper_file(tmp_path, code))))
    assert made.seen == (0, 1, {})
    assert isinstance(made.accelerator, LocalAccelerator)
    assert (made.accelerator.is_main_process, made.accelerator.num_processes) == (True, 1)
    assert made.accelerator.gather([1]) == [1]
    assert made.accelerator.unwrap_model(3) == 3
    made.accelerator.wait_for_everyone()


def test_an_own_accelerator_is_left_alone(tmp_path: Path) -> None:
    code = "def __init__(self):\n    self.accelerator, self._rank, self.task_dict = 'own', 3, None\n"
    made = loaded(LmmsModel(path=str(wrapper_file(tmp_path, code))))
    assert (made.accelerator, made.rank, made.task_dict) == ("own", 3, {})


def test_the_names_of_the_guide_and_of_typing_are_there(tmp_path: Path) -> None:
    code = """\
def f(a: List[Instance], b: Optional[Tuple[int, Any]], c: Union[Dict[str, int], None]) -> GenerationResult: ...

@register_model("supplied")
class Mine(LM):
    def generate_until(self, requests: List[Instance]) -> List[str]:
        return [self.task_dict[r.args[4]][r.args[5]][r.args[3]]["colour"] for r in requests]
"""
    path = write(tmp_path, {"supplied.py": code}) / "supplied.py"
    assert answers(run_wrapper(tmp_path, "colours", path, name="supplied"), "colours") == list(COLOURS)
