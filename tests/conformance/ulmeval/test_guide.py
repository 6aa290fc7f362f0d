"""The guide's listings with their lost indentation, and classes, wrappers and scripts completed as it describes, run
from files outside the package. Authors' own ``evaluate``, called directly on the same pictures, gives the same.
"""

from __future__ import annotations

import hashlib
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image

import polymeter
from polymeter.cli.main import main
from polymeter.interop.ulmeval.guest_files import load_guest_file
from tests.conformance.kit import guests_of
from tests.conformance.ulmeval.kit import pictures, polymeter_run, results, samples
from tests.helpers.janus import JANUS_SIZE, make_unified

GUIDE = guests_of("ulmeval") / "ulm_guide"
BENCHMARK, MODELS, SCRIPTS = GUIDE / "benchmark", GUIDE / "models", GUIDE / "scripts"
LISTINGS = {
    "build_prompt_listing.txt": ("06a88e4a610b94e8", "benchmark/guide_colours.py"),
    "items_listing.txt": ("7766ed8a088160d9", "scripts/edit_apple.py"),
    "strings_listing.txt": ("836d0245b4919a71", "scripts/draw_photos.py"),
}
WRAPPERS = {"Inner": "inner.py", "GuideBatch": "guide_batch.py", "CodeBatch": "code_batch.py"}


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """``LMUData`` with the tables that the classes name."""
    folder = tmp_path / "LMUData"
    shutil.copytree(GUIDE / "data", folder)
    monkeypatch.setenv("LMUData", str(folder))
    return folder


@pytest.fixture(scope="module")
def janus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A small Janus with random weights."""
    pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield make_unified("janus", tmp_path_factory.mktemp("janus"))
    torch.set_num_threads(before)


def evaluated(name: str, drawn: list[Any], folder: Path) -> Any:
    """What the author's class says of pictures, without a run: its own table, and a file made with pandas."""
    module = load_guest_file(BENCHMARK / "guide_colours.py")
    dataset = getattr(module, f"{name}Dataset")(name)
    frame = dataset.data.copy()
    frame["prediction"] = pd.Series(drawn, index=frame.index, dtype=object)
    file = folder / f"direct_{name}.pkl"
    frame.to_pickle(file)
    return dataset.evaluate(str(file))


# --- the listings ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LISTINGS)
def test_a_completed_listing_holds_the_guides_lines(name: str) -> None:
    digest, completed = LISTINGS[name]
    listing = (GUIDE / name).read_bytes()
    assert hashlib.sha256(listing).hexdigest().startswith(digest)
    lines = iter(line.strip() for line in (GUIDE / completed).read_text().splitlines())
    for line in listing.decode().splitlines():
        assert line in lines, f"{line!r} is not there, or not in its place"


@pytest.mark.parametrize("name", ["items_listing.txt", "strings_listing.txt"])
def test_a_script_is_its_listing_and_nothing_else(name: str) -> None:
    script = (GUIDE / LISTINGS[name][1]).read_text().splitlines()
    assert [line.strip() for line in script] == (GUIDE / name).read_text().splitlines()


# --- benchmarks and models -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_benchmark_with_its_own_prompt_and_evaluate(tmp_path: Path, wrapper: str) -> None:
    output = tmp_path / "run"
    told = ("--include-path", BENCHMARK, "--gen-kwargs", "num_generations=2")
    assert polymeter_run(output, f"ulm:{wrapper}", "GuideColours", *told, path=MODELS / WRAPPERS[wrapper]) == 0
    drawn = pictures(output, "GuideColours")
    assert [len(cell) for cell in drawn] == [2] * 5
    direct = evaluated("GuideColours", drawn, tmp_path)
    found = results(output, "GuideColours")
    assert found == {
        f"{row['category']}/{column}": row[column] for _, row in direct.iterrows() for column in ("accuracy", "images")
    }
    half = 50.0 if wrapper == "GuideBatch" else 100.0
    assert found["warm/accuracy"] == half / 2, "no wrapper has the right orange"
    assert found["cold/accuracy"] == pytest.approx(half * 2 / 3), "violet is known to none"
    assert (output / f"artifacts/GuideColours/{wrapper}_GuideColours_acc.csv").is_file()
    asked = [sample["exchanges"][0]["request"]["messages"] for sample in samples(output, "GuideColours")]
    assert [message["parts"][0]["text"] for (message,) in asked][:2] == ["a red square", "an orange square"]


def test_the_pictures_are_those_that_the_wrapper_gives_directly(tmp_path: Path) -> None:
    assert polymeter_run(tmp_path / "run", "ulm:Inner", "GuideColours", "--include-path", BENCHMARK, path=MODELS) == 0
    wrapper = load_guest_file(MODELS / "inner.py").Inner()
    prompts = pd.read_csv(GUIDE / "data/GuideColours.tsv", sep="\t")["prompt"]
    direct = [wrapper.generate([{"type": "text", "value": prompt}])[0] for prompt in prompts]
    drawn = [cell[0] for cell in pictures(tmp_path / "run", "GuideColours")]
    assert [one.tobytes() for one in drawn] == [one.tobytes() for one in direct]


def test_images_of_the_table_reach_the_model_and_come_back_without_loss(tmp_path: Path) -> None:
    output = tmp_path / "run"
    words = ("--include-path", BENCHMARK / "guide_colours.py")
    assert polymeter_run(output, "ulm:Inner", "GuideEdits", *words, path=MODELS / "inner.py") == 0
    direct = evaluated("GuideEdits", pictures(output, "GuideEdits"), tmp_path)
    assert results(output, "GuideEdits") == direct == {"painted": pytest.approx(2 / 3), "kept": 1.0, "rows": 3}


def test_a_class_that_reuses_everything(tmp_path: Path) -> None:
    run = polymeter.evaluate(
        "ulm:CodeBatch",
        ["GuideReused"],
        model_path=str(MODELS),
        model_args={"paints": "red"},
        include_paths=[BENCHMARK],
        generation={"num_generations": 3},
        output=tmp_path / "run",
    )
    assert run.exit_code == 0
    assert results(tmp_path / "run", "GuideReused") == {"rows": 2, "images": 6}
    first = [cell[0].getpixel((0, 0)) for cell in pictures(tmp_path / "run", "GuideReused")]
    assert first == [(255, 0, 0), (128, 128, 128)]


def test_without_its_table_a_benchmark_says_where_it_looked(
    tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (data_folder / "GuideColours.tsv").unlink()
    words = ("--include-path", BENCHMARK, "--offline")
    assert polymeter_run(tmp_path / "run", "ulm:Inner", "GuideColours", *words, path=MODELS) == 2
    said = capsys.readouterr().err
    assert "https://example.org/data/GuideColours.tsv is not fetched: the run is offline" in said
    assert str(data_folder / "GuideColours.tsv") in said


# --- messages and scripts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["here", "elsewhere"])
def test_the_script_with_a_message_of_items(
    tmp_path: Path, janus: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    """Relative paths are those of whoever calls, wherever the script lies."""
    (tmp_path / folder / "assets").mkdir(parents=True)
    Image.new("RGB", (40, 30), "red").save(tmp_path / folder / "assets/apple.jpg")
    script = SCRIPTS / "edit_apple.py"
    if folder == "here":
        script = Path(shutil.copy(script, tmp_path / folder / script.name))
    monkeypatch.chdir(tmp_path / folder)
    assert main(["python", "--weights", f"deepseek-community/Janus-Pro-1B={janus}", str(script)]) == 0
    with Image.open("assets/apple2.png") as picture:
        assert (picture.format, picture.size) == ("PNG", (JANUS_SIZE, JANUS_SIZE))


def test_the_script_with_a_list_of_strings(tmp_path: Path, janus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "assets").mkdir()
    monkeypatch.chdir(tmp_path)
    shutil.copy(SCRIPTS / "draw_photos.py", tmp_path)
    before = random.getstate()
    words = ["python", "--weights", f"deepseek-ai/Janus-Pro-1B={janus}", "draw_photos.py"]
    assert main(words) == 0
    assert random.getstate() == before
    files = [tmp_path / f"assets/photo{number}.png" for number in range(2)]
    first, second = (Image.open(file).convert("RGB") for file in files)
    assert first.size == second.size == (JANUS_SIZE, JANUS_SIZE)
    assert first.tobytes() != second.tobytes()
    kept = [file.read_bytes() for file in files]
    assert main(words) == 0
    assert [file.read_bytes() for file in files] == kept, "calls are seeded"


def test_a_script_without_its_picture_fails_as_a_script_does(
    tmp_path: Path, janus: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    weights = f"deepseek-community/Janus-Pro-1B={janus}"
    assert main(["python", "--weights", weights, str(SCRIPTS / "edit_apple.py")]) != 0
    said = " ".join(capsys.readouterr().err.split())
    assert f"The image 'assets/apple.jpg' does not exist. It is looked for from {tmp_path}." in said
