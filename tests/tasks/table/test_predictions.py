"""The prediction file: its name and its place."""

from pathlib import Path

import pytest

from polymeter.tasks.table.predictions import model_name, prediction_path


@pytest.mark.parametrize(
    ("display", "name"),
    [
        ("mock", "mock"),
        ("ulm:Janus-Pro-1B", "Janus-Pro-1B"),
        ("hf:Qwen/Qwen2.5-VL-3B", "Qwen2.5-VL-3B"),
        ("diffusers:/models/sd-tiny/", "sd-tiny"),
        ("openai:llama3:8b", "llama3:8b"),
    ],
)
def test_a_models_name_is_the_last_part_of_its_own(display: str, name: str) -> None:
    assert model_name(display) == name


def test_the_file_is_called_after_model_and_dataset(tmp_path: Path) -> None:
    assert prediction_path(tmp_path, "m", "D") == tmp_path / "D" / "m_D.pkl"
    odd = prediction_path(tmp_path, "llama3:8b", "a/b")
    assert (odd.name, odd.parent.parent) == ("llama3_8b_a_b.pkl", tmp_path)
    assert odd.parent != prediction_path(tmp_path, "llama3:8b", "a_b").parent
    assert prediction_path(tmp_path, "m", "..").parent.resolve().parent == tmp_path.resolve()
