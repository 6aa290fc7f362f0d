"""Planning, listing and checking construct no wrapper, since that is where wrappers read their weights; nor does a run
whose answers are all there.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from polymeter.cli.main import main
from polymeter.store.folder import RunFolder
from tests.tasks.yaml.kit import task_text, write, write_rows

WRAPPERS = """
import os
from pathlib import Path

from lmms_eval.api.model import lmms
from lmms_eval.api.registry import register_model

HERE = Path(os.environ["HEAVY"])

@register_model("heavy")
class Heavy(lmms):
    def __init__(self, pretrained="some/weights", batch_size=1, **kwargs):
        super().__init__()
        with open(HERE / "constructed", "a") as file:
            file.write(pretrained + "\\n")
        if (HERE / "forbidden").exists():
            raise RuntimeError("weights were read")

    def generate_until(self, requests):
        return [f"answer to {request.args[0]}" for request in requests]

    def generate_until_multi_round(self, requests):
        return [[request.args[0]] for request in requests]

@register_model("heavy_chat")
class HeavyChat(Heavy):
    is_simple = False

@register_model("heavy_factory")
class HeavyFactory(Heavy):
    @classmethod
    def create_from_arg_string(cls, arg_string, additional_config=None):
        return cls(pretrained=arg_string)
"""
NAMES = ["heavy", "heavy_chat", "heavy_factory"]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with wrappers and tasks."""
    monkeypatch.setenv("HEAVY", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    match = "metric_list: [{metric: exact_match}]\n"
    write(tmp_path, {"heavy.py": WRAPPERS, "lib/t.yaml": task_text(match, text="q")})
    write(tmp_path, {"lib/lost.yaml": task_text(match, name="lost").replace("rows.", "none.")})
    write_rows(tmp_path / "lib")
    (tmp_path / "forbidden").touch()
    return tmp_path


def run(name: str, tasks: str, output: str = "run", *words: str) -> int:
    told = ["--model", f"lmms:{name}", "--model-path", "heavy.py", "--tasks", tasks, "--include-path", "lib"]
    return main(["run", *told, "--output", output, "--quiet", *words])


def is_constructed(place: Path) -> bool:
    return (place / "constructed").exists()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("t,nothing_of_that_name",), "There is no task, group or tag 'nothing_of_that_name'"),
        (("t,lost",), "none.jsonl"),
        (("t", "run", "--limit", "0"), "limit"),
    ],
)
def test_what_planning_refuses_is_refused_before_a_wrapper_is_constructed(
    place: Path, name: str, words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(name, *words) == 2
    assert message in capsys.readouterr().err
    assert not is_constructed(place)


@pytest.mark.parametrize("name", NAMES)
def test_a_run_plans_whole_and_then_constructs_once(place: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(name, "t") == 2
    assert "weights were read" in capsys.readouterr().err
    assert len((place / "constructed").read_text().splitlines()) == 1
    assert [task["name"] for task in RunFolder(Path("run")).read_manifest()["tasks"]] == ["t"], "the plan was whole"


@pytest.mark.parametrize(
    "words",
    [
        ("tasks", "--include-path", "lib"),
        ("models",),
        ("models", "lmms"),
        ("check", "lib/t.yaml"),
        ("check", "lib/t.yaml", "--prompts", "2"),
        ("check", "lib/t.yaml", "--run-gold"),
        ("docs", "t", "--include-path", "lib", "--output", "pages"),
        ("lmms-eval", "models"),
        ("lmms-eval", "tasks", "list", "--include_path", "lib"),
        ("python", "--model-path", "heavy.py", "names.py"),
    ],
    ids=lambda words: "-".join(words[:2]) + f"-{len(words)}",
)
def test_listing_and_checking_construct_nothing(place: Path, words: tuple[str, ...]) -> None:
    (place / "names.py").write_text("from lmms_eval.models import get_model\nassert get_model('heavy')\n")
    assert main([*words]) in (0, 1)
    assert not is_constructed(place)


@pytest.mark.parametrize("name", NAMES)
def test_a_finished_run_is_scored_and_resumed_without_its_model(place: Path, name: str) -> None:
    (place / "forbidden").unlink()
    assert run(name, "t") == 0
    (place / "forbidden").touch()
    os.remove("constructed")
    assert main(["resume", "run", "--quiet"]) == 0
    assert run(name, "t") == 0
    os.remove("heavy.py")
    assert main(["score", "run", "--output", "scored", "--quiet"]) == 0
    assert RunFolder(Path("scored")).read_results()["tasks"] == RunFolder(Path("run")).read_results()["tasks"]
    assert not is_constructed(place)
