"""A log of which one file is cut off: the file is named, whichever it is, and no part of the log is imported."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from polymeter import import_log
from polymeter.core.errors import PolymeterError

HERE = Path(__file__).parent
LOGS = {
    "evalscope-0.17": HERE / "evalscope" / "logs" / "0.17",
    "evalscope-1": HERE / "evalscope" / "logs" / "1.14" / "choices",
    "inspect-eval": HERE / "inspect_ai" / "logs" / "eval",
    "inspect-json": HERE / "inspect_ai" / "logs" / "json",
    "lm-eval": HERE / "lm_eval" / "logs",
    "lmms-eval": HERE / "lmms_eval" / "logs",
    "vlmevalkit": HERE / "ulmeval" / "logs" / "xlsx" / "speaker",
}

pytestmark = pytest.mark.needs_system("evalscope", "inspect_ai", "lm_eval", "lmms_eval", "ulmeval")


def numbers(log: Path, output: Path) -> Any:
    found = import_log(log, output=output)
    return json.loads(json.dumps({kind: found.results[kind] for kind in ("tasks", "groups")}))


@pytest.mark.parametrize("name", LOGS)
def test_a_file_that_is_cut_off_is_named(name: str, tmp_path: Path) -> None:
    log = tmp_path / LOGS[name].name
    shutil.copytree(LOGS[name], log)
    whole = numbers(log, tmp_path / "whole")
    files = [path for path in sorted(log.rglob("*")) if path.is_file()]
    named = []
    for number, file in enumerate(files):
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2])
        if file.suffix == ".pkl":  # a copy of the table beside it, which is not read
            assert numbers(log, tmp_path / str(number)) == whole
        else:
            with pytest.raises(PolymeterError) as caught:
                numbers(log, tmp_path / str(number))
            named.append(file.name in f"{caught.value.what} {caught.value.where}")
            assert not (tmp_path / str(number)).exists()
        file.write_bytes(content)
    assert named
    assert all(named)


@pytest.mark.parametrize("content", [b"", b"\x00\xff" * 300])
@pytest.mark.parametrize("name", ["inspect-eval", "lm-eval", "lmms-eval"])
def test_results_that_are_no_text_at_all_are_named(name: str, content: bytes, tmp_path: Path) -> None:
    log = tmp_path / "log"
    shutil.copytree(LOGS[name], log)
    file = next(path for path in sorted(log.iterdir()) if "results" in path.name or path.suffix == ".eval")
    file.write_bytes(content)
    with pytest.raises(PolymeterError, match=f"{file.name} is damaged"):
        import_log(log, output=tmp_path / "run")


def test_scores_of_another_dataset_are_not_taken(tmp_path: Path) -> None:
    log = tmp_path / "speaker"
    shutil.copytree(HERE / "ulmeval" / "logs" / "xlsx" / "speaker", log)
    whole = numbers(log, tmp_path / "whole")
    (log / "speaker_colours_circular.xlsx").unlink()
    assert numbers(log, tmp_path / "part")["tasks"]["colours"] == whole["tasks"]["colours"]
