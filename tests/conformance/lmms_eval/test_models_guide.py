"""The model guide's listings, completed as it describes, and wrappers with the idioms of lmms-eval's own, run as they
are from files outside the package.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import ModuleType

import pytest

from polymeter.store.exports.export import read_samples
from tests.conformance.kit import guests_of
from tests.helpers.colours import COLOURS, answers, run_wrapper

GUESTS = guests_of("lmms_eval")

LISTINGS = {
    "interface_listing.txt": "e57c72b5af1f0ff3",
    "registration_listing.txt": "2b1b3a4b4b43483c",
    "my_package/__init__.py": "02cba790198419cc",
}
COMPLETED = {
    "interface_listing.txt": "interface.py",
    "registration_listing.txt": "my_package/my_model_filename.py",
    "my_package/__init__.py": "my_package/__init__.py",
}
GUIDE, IDIOMS = GUESTS / "model_guide", GUESTS / "model_idioms"


@pytest.mark.parametrize("name", LISTINGS)
def test_a_completed_listing_holds_the_guides_lines(name: str) -> None:
    listing = (GUIDE / name).read_bytes()
    assert hashlib.sha256(listing).hexdigest().startswith(LISTINGS[name])
    lines = iter(line.strip() for line in (GUIDE / COMPLETED[name]).read_text().splitlines())
    for line in listing.decode().splitlines():
        assert line in lines, f"{line!r} is not there, or not in its place"


def test_the_interface_of_the_guide_runs_with_its_names_unimported(tmp_path: Path) -> None:
    result = run_wrapper(tmp_path, ["colours", "choices"], GUIDE / "interface.py")
    assert answers(result, "colours") == list(COLOURS)
    assert result.value("choices", "acc") == 1.0


@pytest.mark.parametrize("name", ["<name1>", "<name2>", "MyCustomLM", ""])
def test_the_package_of_the_guide_runs_under_every_name(tmp_path: Path, name: str) -> None:
    result = run_wrapper(tmp_path, "colours", GUIDE / "my_package", name=name, batch_size=2)
    assert result.value("colours", "exact_match") == 1.0
    assert result.folder.read_manifest()["model"]["identity"]["name"] == (name or "<name1>")


@pytest.mark.parametrize("batch_size", [1, 4])
def test_the_usual_idioms_give_every_row_its_own_picture(
    tmp_path: Path, guest_modules: dict[str, ModuleType], batch_size: int
) -> None:
    pytest.importorskip("torch")
    result = run_wrapper(
        tmp_path, ["colours", "more_colours"], IDIOMS / "idiomatic.py", name="idiomatisch", batch_size=batch_size
    )
    module = guest_modules["idiomatic"]
    assert answers(result, "colours") == answers(result, "more_colours") == list(COLOURS)
    assert max(module.CHUNKS) == batch_size
    assert sum(module.CHUNKS) == 2 * len(COLOURS)
    usage = next(read_samples(result.folder, "colours"))["exchanges"][0]["response"]["outputs"][0]["usage"]
    assert usage[:2] == [len("Which colour?"), 1]


def test_the_usual_idioms_answer_choices(tmp_path: Path) -> None:
    result = run_wrapper(tmp_path, ["choices", "likely"], IDIOMS / "idiomatic.py", name="idiomatic", batch_size=2)
    assert result.value("choices", "acc") == result.value("likely", "acc") == 1.0


def test_a_chat_wrapper_gets_messages_and_no_injected_stop(
    tmp_path: Path, guest_modules: dict[str, ModuleType]
) -> None:
    result = run_wrapper(tmp_path, "colours", IDIOMS / "chat.py", system_prompt="Be short.")
    assert answers(result, "colours") == list(COLOURS)
    context, kinds, kwargs, first_role = guest_modules["chat"].SEEN[0]
    assert context.endswith("Which colour?")
    assert kinds == ["image", "text"]
    assert kwargs == {"max_new_tokens": 4, "until": []}
    assert first_role == "system"


def test_a_wrapper_drives_its_rounds_itself(tmp_path: Path) -> None:
    result = run_wrapper(tmp_path, "asked", IDIOMS / "rounds.py", name="rounds")
    assert answers(result, "asked")[0] == ["First Which colour?!1", "Round 1!1", "Round 2!2", "info 2"]
    assert result.value("asked", "rounds") == 4.0


def test_a_chat_wrapper_drives_its_rounds_itself(tmp_path: Path) -> None:
    result = run_wrapper(tmp_path, "asked", IDIOMS / "chat.py")
    assert answers(result, "asked")[0] == ["First Which colour?!", "Round 1!", "Round 2!", "info 2"]


def test_the_engine_drives_the_rounds_of_a_wrapper_that_does_not(tmp_path: Path) -> None:
    result = run_wrapper(tmp_path, "asked", IDIOMS / "rounds.py", name="one_round")
    assert answers(result, "asked")[0] == ["First Which colour?!", "Round 1!", "Round 2!"]
    assert result.value("asked", "rounds") == 4.0
