"""Foreign exceptions become one error each, with the file and line of the code that somebody else wrote."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import (
    GUEST_PREFIX,
    DataError,
    ModelError,
    PlanError,
    PolymeterError,
    ScoreError,
    blame,
    boundary,
    did_you_mean,
)
from polymeter.core.model import ModelTraits
from polymeter.core.request import Error
from polymeter.core.settings.needs import Needs, check_needs
from polymeter.core.text.codec import encode


@pytest.fixture
def foreign(tmp_path: Path) -> Callable[[str], tuple[Callable[[], Any], Path]]:
    """Makes a function ``hook`` out of the body given, in a file of its own; the body begins on line 2."""

    def make(body: str) -> tuple[Callable[[], Any], Path]:
        path = tmp_path / "utils.py"
        text = "def hook():\n" + textwrap.indent(textwrap.dedent(body), "    ")
        path.write_text(text)
        names: dict[str, Any] = {"encode": encode}
        exec(compile(text, str(path), "exec"), names)
        return names["hook"], path

    return make


Foreign = Callable[[str], tuple[Callable[[], Any], Path]]


def test_an_exception_is_attributed_to_its_file_and_line(foreign: Foreign) -> None:
    hook, path = foreign("x = {}\nreturn x['answer']")
    with (
        pytest.raises(ScoreError) as caught,
        boundary(ScoreError, "process_results of task 'mme'", hint="Look at the row."),
    ):
        hook()
    assert caught.value.what == "process_results of task 'mme' raised KeyError: 'answer'"
    assert caught.value.where == f"{path}:3"
    assert caught.value.hint == "Look at the row."
    assert isinstance(caught.value.__cause__, KeyError)
    assert str(caught.value) == f"{caught.value.what} [{path}:3] Look at the row."


@pytest.mark.parametrize(
    "body",
    [
        "import json\njson.loads('no json')",
        "import ast\nast.literal_eval('1 +')",
        "import random\nrandom.choice([])",
        "import numpy as np\nnp.concatenate([])",
        "import statistics\nstatistics.mean([])",
        "import re\nre.compile('(')",
        "x = 1\nencode(object())",
    ],
    ids=["json", "ast", "random", "numpy", "statistics", "re", "polymeter"],
)
def test_the_blame_is_never_on_the_library_that_foreign_code_called(foreign: Foreign, body: str) -> None:
    hook, path = foreign(body)
    with pytest.raises(Exception) as caught:
        hook()
    assert blame(caught.value) == f"{path}:3"


@pytest.mark.parametrize("is_guest", [True, False])
def test_of_an_installed_package_only_what_was_loaded_as_a_guest_is_blamed(tmp_path: Path, is_guest: bool) -> None:
    path = tmp_path / "site-packages" / "tool" / "tasks" / "utils.py"
    space: dict[str, Any] = {"__name__": f"{GUEST_PREFIX}1.utils" if is_guest else "tool.tasks.utils"}
    exec(compile("def hook():\n    raise ValueError", str(path), "exec"), space)
    with pytest.raises(ValueError) as caught:
        space["hook"]()
    assert blame(caught.value).startswith(f"{path}:2" if is_guest else f"{__file__}:")


def test_broken_syntax_is_blamed_on_the_line_that_is_broken(tmp_path: Path) -> None:
    path = tmp_path / "utils.py"
    with pytest.raises(PlanError) as caught, boundary(PlanError, "Loading"):
        compile("x = 1\ny = = 2\n", str(path), "exec")
    assert caught.value.where == f"{path}:2"


def test_the_blame_of_an_exception_that_was_never_raised_is_empty() -> None:
    assert blame(ValueError("x")) == ""


def test_a_message_does_not_say_where_in_memory_something_lay() -> None:
    with pytest.raises(DataError) as caught, boundary(DataError, "Reading"):
        raise ValueError("cannot read <_io.BytesIO object at 0x7fE5a9709530>")
    assert caught.value.what == "Reading raised ValueError: cannot read <_io.BytesIO object>"


def test_polymeters_own_errors_pass_unchanged() -> None:
    own = DataError("row 3 is broken", where="a.csv:3")
    with pytest.raises(DataError) as caught, boundary(ScoreError, "Scoring"):
        raise own
    assert caught.value is own


def test_foreign_code_cannot_end_the_run(foreign: Foreign) -> None:
    hook, path = foreign("import sys\nsys.exit(3)")
    with pytest.raises(ModelError, match="The model raised SystemExit: 3") as caught, boundary(ModelError, "The model"):
        hook()
    assert caught.value.where == f"{path}:3"


@pytest.mark.parametrize("stop", [KeyboardInterrupt, GeneratorExit, asyncio.CancelledError])
def test_what_stops_a_program_passes(stop: type[BaseException]) -> None:
    with pytest.raises(stop), boundary(ModelError, "The model"):
        raise stop


def test_a_message_is_one_line_and_never_missing() -> None:
    with pytest.raises(ScoreError, match=r"^Hook raised ValueError: one two "), boundary(ScoreError, "Hook"):
        raise ValueError("one\n   two")
    with pytest.raises(ScoreError, match="raised ValueError: no message"), boundary(ScoreError, "Hook"):
        raise ValueError


def test_the_nearest_names_come_first_and_far_ones_not_at_all() -> None:
    known = ["mmbench", "mmbench_cn", "docvqa"]
    assert did_you_mean("mmbnch", known) == "Did you mean 'mmbench' or 'mmbench_cn'?"
    assert did_you_mean("docvqa_val", known) == "Did you mean 'docvqa'?"
    assert did_you_mean("zzzzz", known) == ""


@pytest.mark.parametrize(
    ("error", "kind", "is_retryable"),
    [
        (ModelError("busy", kind="rate_limit"), "rate_limit", True),
        (ModelError("reset", kind="transient"), "transient", True),
        (ModelError("no", kind="refused"), "refused", False),
        (ModelError("bad"), "permanent", False),
        (DataError("broken"), "data", False),
    ],
)
def test_an_error_as_data_knows_whether_trying_again_can_help(
    error: PolymeterError, kind: str, is_retryable: bool
) -> None:
    made = Error.from_exception(error, "data")
    assert (made.kind, made.retryable, made.message) == (kind, is_retryable, str(error))


def test_a_wait_that_an_endpoint_asked_for_is_kept() -> None:
    error = ModelError("busy", kind="rate_limit", retry_after_s=2.5)
    assert Error.from_exception(error).retry_after_s == 2.5


# --- what a task needs and a model has --------------------------------------------------------------------------------

READER = ModelTraits(
    "reader", requests={"generate": True, "loglikelihood": False}, modalities={"image": True, "audio": False}
)


def test_a_model_that_can_is_let_through_and_unknown_is_not_refused() -> None:
    needs = Needs(requests=frozenset({"generate", "generate_image"}), modalities=frozenset({"image", "video"}))
    check_needs(needs, READER, task="mme", model="reader")


@pytest.mark.parametrize(
    ("needs", "message"),
    [
        (
            Needs(requests=frozenset({"loglikelihood"})),
            "Task 'mme' asks for 'loglikelihood', which model 'reader' cannot do.",
        ),
        (
            Needs(modalities=frozenset({"audio", "text"})),
            "Task 'mme' shows audio to the model, which 'reader' does not accept.",
        ),
        (
            Needs(roles=frozenset({"judge"})),
            "Task 'mme' needs a model in the role 'judge', and the run has none. Name one: --judge openai:NAME.",
        ),
    ],
    ids=["ask", "modality", "role"],
)
def test_what_cannot_work_is_refused_with_its_reason(needs: Needs, message: str) -> None:
    with pytest.raises(PlanError) as caught:
        check_needs(needs, READER, task="mme", model="reader")
    assert str(caught.value).startswith(message)


def test_a_model_that_must_be_shown_something_is_not_asked_without_it() -> None:
    editor = ModelTraits("editor", requires=("image",))
    check_needs(Needs(modalities=frozenset({"image", "text"})), editor, task="edits", model="editor")
    with pytest.raises(PlanError, match=r"Task 'draws' shows no image to the model, and 'editor' needs one\."):
        check_needs(Needs(modalities=frozenset({"text"})), editor, task="draws", model="editor")


def test_a_role_that_is_filled_is_fine() -> None:
    check_needs(Needs(roles=frozenset({"judge"})), READER, task="mme", model="reader", roles=["judge"])
