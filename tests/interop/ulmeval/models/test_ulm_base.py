"""The base classes that wrappers subclass, used on their own as a script does."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from polymeter.core.errors import DataError, ModelError
from polymeter.interop.ulmeval.models.base import BaseAPI, BaseModel
from polymeter.interop.ulmeval.models.hooks import is_written

RED = Image.new("RGB", (2, 2), "red")


class Single(BaseModel):
    """Only ``generate_inner``; draws what the global generators say."""

    def generate_inner(self, message: Any, dataset: Any = None) -> Any:
        self.seen = message, dataset
        return random.random(), float(np.random.rand())  # noqa: NPY002


class GuideBatch(BaseModel):
    """Only the batch hook, as the guide calls it; no ``super().__init__``."""

    def __init__(self, letter: str = "g") -> None:
        self.letter = letter

    def batch_generation_inner(self, msgs: Any, dataset: Any, num_generations: int) -> list[str]:
        return [f"{self.letter}{number}" for number in range(num_generations)]


class CodeBatch(BaseModel):
    """Only the batch hook, as the code calls it."""

    def batch_generate_inner(self, message: Any, dataset: Any, num_generations: int) -> list[str]:
        return ["c"] * num_generations


class Both(CodeBatch):
    """Two of the hooks."""

    def generate_inner(self, message: Any, dataset: Any = None) -> str:
        return "single"


class OtherNames(BaseModel):
    """Hooks whose arguments have names of their own."""

    def generate_inner(self, msgs: Any, ds: Any) -> Any:
        return ds


class Api(BaseAPI):
    """An endpoint that fails a given number of times."""

    def __init__(self, failures: int = 0, **kwargs: Any) -> None:
        super().__init__(**{"wait": 0, "retry": 3, **kwargs})
        self.failures = failures
        self.seen: list[Any] = []

    def generate_inner(self, inputs: Any, **kwargs: Any) -> tuple[int, Any, Any]:
        self.seen.append((inputs, kwargs))
        inputs.clear()
        if self.failures:
            self.failures -= 1
            if self.failures == 0:
                raise ConnectionError("reset")
            return 429, "slow down", "log"
        return 0, "answer", None


def test_generate_gives_a_list_for_every_model() -> None:
    assert GuideBatch().generate("a") == ["g0"]
    assert GuideBatch().generate(["a", "b"], num_generations=3) == ["g0", "g1", "g2"]
    assert CodeBatch().generate({"type": "text", "value": "a"}, "D", 2) == ["c", "c"]
    assert Both().generate("a", num_generations=2) == ["c", "c"]
    assert OtherNames().generate("a", dataset="D", num_generations=2) == ["D", "D"]
    assert len(Single().generate("a", num_generations=2)) == 2
    assert Api().generate("a", dataset="D", num_generations=2) == ["answer", "answer"]


def test_a_batch_hook_answers_also_where_one_is_asked_for() -> None:
    assert GuideBatch().generate_inner([{"type": "text", "value": "a"}]) == "g0"
    assert GuideBatch().batch_generate_inner([], None, 2) == ["g0", "g1"]
    assert CodeBatch().batch_generation_inner([], None, 1) == ["c"]


def test_every_call_is_seeded_and_nothing_leaks(monkeypatch: pytest.MonkeyPatch) -> None:
    random.seed(7)
    np.random.seed(7)  # noqa: NPY002
    expected = random.random(), np.random.rand()  # noqa: NPY002
    random.seed(7)
    np.random.seed(7)  # noqa: NPY002
    first = Single().generate("a", num_generations=2)
    assert (random.random(), np.random.rand()) == expected  # noqa: NPY002
    assert Single().generate("other", num_generations=2) == first
    assert first[0] != first[1]
    monkeypatch.setenv("SEED", "7")
    assert Single().generate("a") == [expected]
    monkeypatch.setenv("SEED", "seven")
    with pytest.raises(ModelError, match=r"The seed 'seven' is not a number\. \[SEED\]"):
        Single().generate("a")


def test_relative_paths_are_the_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    RED.save(tmp_path / "apple.png")
    monkeypatch.chdir(tmp_path)
    model = Single()
    given = [{"type": "image", "value": "apple.png"}, {"type": "text", "value": "apple.png"}]
    model.generate(given, dataset="D")
    items, dataset = model.seen
    assert [item["value"] for item in items] == [str(tmp_path / "apple.png"), "apple.png"]
    assert dataset == "D"
    assert given[0]["value"] == "apple.png"


def test_what_a_model_does_not_take_is_refused(tmp_path: Path) -> None:
    (tmp_path / "v.mp4").write_bytes(b"x")
    with pytest.raises(ModelError, match=r"Single takes no video\. It takes: text, image\."):
        Single().generate([{"type": "video", "value": str(tmp_path / "v.mp4")}])
    with pytest.raises(DataError, match="A message cannot be an int"):
        Single().generate(3)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (RED, "batch_generate_inner gave an Image where a list of 2 was asked for."),
        (None, "batch_generate_inner gave nothing where a list of 2 was asked for."),
        ([RED] * 3, "batch_generate_inner gave 3 images where 2 were asked for."),
    ],
)
def test_a_batch_hook_that_gives_another_number_is_told(given: Any, said: str) -> None:
    class Wrong(BaseModel):
        def batch_generate_inner(self, message: Any, dataset: Any, num_generations: int) -> Any:
            return given

    with pytest.raises(ModelError) as caught:
        Wrong().generate("a", num_generations=2)
    assert said in str(caught.value)


def test_a_model_without_hooks_says_so() -> None:
    with pytest.raises(NotImplementedError, match="BaseModel has neither generate_inner nor a batch hook"):
        BaseModel().generate("a")


def test_images_of_rows_come_from_the_benchmark() -> None:
    model = GuideBatch()
    with pytest.raises(ModelError, match="has no dump_image function"):
        model.dump_image({"index": 1}, "D")
    model.set_dump_image(lambda line: [f"{line['index']}.png"])
    assert model.dump_image({"index": 1}, "D") == ["1.png"]
    assert model.use_custom_prompt("D") is False


def test_texts_and_the_first_image_are_one_prompt() -> None:
    message = [
        {"type": "text", "value": "a"},
        {"type": "image", "value": "1.png"},
        {"type": "text", "value": "b"},
        {"type": "image", "value": "2.png"},
    ]
    with pytest.warns(UserWarning, match="sees the first of 2 images"):
        assert Single().message_to_promptimg(message) == ("a\nb", "1.png")
    assert Single().message_to_promptimg(message[:1]) == ("a", None)


def test_forms_of_messages() -> None:
    forms = {"str": "a", "dict": {}, "liststr": ["a"], "listdict": [{}], "unknown": ["a", {}]}
    assert {form: Single().check_content(value) for form, value in forms.items()} == {form: form for form in forms}
    assert Single().preproc_content("a") == [{"type": "text", "value": "a"}]


def test_an_endpoint_is_asked_again_and_its_failures_are_texts() -> None:
    api = Api(failures=2, temperature=0.5)
    assert api.generate([{"type": "text", "value": "a"}], dataset="D") == ["answer"]
    assert len(api.seen) == 3
    assert api.seen[-1][1] == {"temperature": 0.5, "dataset": "D"}
    assert Api(failures=9).generate("a") == ["Failed to obtain answer via API."]
    assert Api(failures=9, fail_msg="no", retry=1).generate("a", num_generations=2) == ["no", "no"]
    assert Api().working()


def test_an_empty_success_is_none() -> None:
    class Silent(Api):
        def generate_inner(self, inputs: Any, **kwargs: Any) -> tuple[int, Any, Any]:
            return 0, None, "no image part"

    assert Silent().generate("a") == ["Failed to obtain answer via API."]


def test_system_items_are_the_system_prompt() -> None:
    api = Api(system_prompt="Be short.")
    message = [{"type": "text", "value": "Be kind.", "role": "system"}, {"type": "text", "value": "a", "role": "user"}]
    assert api.preprocess_message_with_role(message) == [{"type": "text", "value": "a"}]
    assert api.system_prompt == "Be short.\nBe kind.\n"


def test_a_chat_leaves_out_what_does_not_fit() -> None:
    class Talker(BaseModel):
        def chat_inner(self, messages: Any, dataset: Any = None) -> str:
            if len(messages) > 1:
                raise ValueError("too long")
            return messages[0]["content"][0]["value"]

    turns = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "answer"},
        {"role": "user", "content": ["second"]},
    ]
    assert Talker().chat(turns) == "second"
    with pytest.raises(ModelError, match="Turn 0 of a chat needs"):
        Talker().chat([{"role": "user"}])
    with pytest.raises(ModelError, match="has no chat_inner"):
        Single().chat(turns)


def test_what_the_bases_define_is_not_the_authors() -> None:
    assert is_written(Single, "generate_inner")
    assert not is_written(Single, "generate")
    assert not is_written(Single, "use_custom_prompt")
    assert not is_written(BaseAPI, "generate")
