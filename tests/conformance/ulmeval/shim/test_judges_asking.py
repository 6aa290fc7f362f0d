"""Judges that dataset classes build: each is the run's, sees whole images, and says so when it could not answer."""

from __future__ import annotations

import base64
import io
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as pil

from polymeter.core.content import Image, Text
from polymeter.core.errors import PlanError
from polymeter.core.guest_context import answering_through
from polymeter.core.request import Error, Output, Request, Response
from polymeter.data.pickles import read_pickle
from polymeter.interop.ulmeval.guest_files import load_guest_file
from polymeter.interop.ulmeval.models.base import BaseAPI
from polymeter.interop.ulmeval.shim.ulmeval.api.gpt import OpenAIWrapper
from polymeter.interop.ulmeval.shim.ulmeval.judges import build_judge
from polymeter.interop.ulmeval.shim.ulmeval.mp_util import track_progress_rich
from polymeter.interop.ulmeval.shim.ulmeval.smp import encode_image_to_base64


class Judge:
    """An asker that keeps what it is asked."""

    def __init__(self, answer: Callable[[Request], Any] = lambda request: "yes") -> None:
        self.asked: list[Request] = []
        self.refused: list[str] = []
        self.roles = {"judge"}
        self._answer = answer

    def __call__(self, role: str, request: Request) -> Response:
        assert role == "judge"
        self.asked.append(request)
        given = self._answer(request)
        return given if isinstance(given, Response) else Response((Output(text=given),))

    def refuse(self, why: str) -> None:
        self.refused.append(why)

    def images(self) -> list[tuple[int, int]]:
        return [part.size() for message in self.asked[-1].messages for part in message.parts if isinstance(part, Image)]


@pytest.fixture
def judge() -> Iterator[Judge]:
    made = Judge()
    with answering_through(made):
        yield made


def packed(size: tuple[int, int]) -> str:
    return encode_image_to_base64(pil.new("RGB", size, "red"))


def test_a_question_with_roles_and_a_picture(judge: Judge) -> None:
    model = build_judge(model="gpt-4o", nproc=4, temperature=0.0)
    message = [
        {"role": "system", "value": "Be strict."},
        {"role": "user", "type": "text", "value": "Is it red?"},
        {"role": "user", "type": "image", "value": f"data:image/jpeg;base64,{packed((1400, 900))}"},
    ]
    assert model.generate(message) == "yes"
    system, user = judge.asked[0].messages
    assert (system.role, system.text, user.role, user.text) == ("system", "Be strict.", "user", "Is it red?")
    assert judge.images() == [(1400, 900)]
    assert (judge.asked[0].parameters.temperature, judge.asked[0].parameters.max_new_tokens) == (0.0, 2048)
    assert message[0] == {"role": "system", "value": "Be strict."}, "nothing is changed in what was given"
    model.generate("Another?")
    assert [turn.role for turn in judge.asked[1].messages] == ["user"], "a system prompt is that of its question"


def test_a_picture_that_is_pasted_into_the_text_is_seen(judge: Judge) -> None:
    text = (
        f"PROMPT: a dog\nIMAGE (PNG, base64 data URL):\ndata:image/png;base64, {packed((200, 150))}\nFollow the rules."
    )
    OpenAIWrapper("gpt-4o").generate(text)
    assert judge.images() == [(200, 150)]
    texts = [part.text for part in judge.asked[0].messages[0].parts if isinstance(part, Text)]
    assert len(texts) == 2
    assert "base64," not in "".join(texts)


@pytest.mark.parametrize(
    ("given", "seen"), [({}, (800, 400)), ({"img_size": -1}, (800, 400)), ({"img_size": 200}, (200, 100))]
)
def test_an_image_is_shrunk_only_where_its_author_says_so(
    judge: Judge, given: dict[str, int], seen: tuple[int, int]
) -> None:
    OpenAIWrapper("gpt-4o", img_detail="low", **given).generate(
        [{"type": "image", "value": f"data:image/jpeg;base64,{packed((800, 400))}"}]
    )
    assert judge.images() == [seen]


@pytest.mark.parametrize(
    "message", ["Hello!", {"type": "text", "value": "Hello!"}, ["Hello!"], [{"type": "text", "value": "Hello!"}]]
)
def test_every_form_of_a_message(judge: Judge, message: Any) -> None:
    assert OpenAIWrapper("gpt-4o").generate(message) == "yes"
    assert judge.asked[0].text == "Hello!"


def test_a_path_is_an_image(judge: Judge, tmp_path: Path) -> None:
    pil.new("RGB", (30, 20)).save(tmp_path / "a.png")
    OpenAIWrapper("gpt-4o").generate([str(tmp_path / "a.png"), "What is it?"])
    assert judge.images() == [(30, 20)]


def test_settings_of_an_answer_reach_the_judge_and_nothing_else_does(judge: Judge) -> None:
    model = OpenAIWrapper("gpt-4o", key="sk-secret", retry=3, verbose=True, max_tokens=16, top_p=0.5, fps=2)
    model.generate("Hello!", temperature=0.7, response_format={"type": "json_object"}, dataset="X")
    ask = judge.asked[0].parameters
    assert (ask.max_new_tokens, ask.temperature, ask.top_p) == (16, 0.7, 0.5)
    assert dict(ask.extra) == {"response_format": {"type": "json_object"}}
    assert "sk-secret" not in repr(vars(model))


@pytest.mark.parametrize(
    ("answer", "refused"),
    [
        (Response(error=Error("permanent", "no such model")), []),  # the run notes errors itself
        ("", ["The judge said nothing."]),
        (Response(()), ["The judge said nothing."]),
    ],
)
def test_a_judge_that_could_not_answer_gives_the_words_that_authors_look_for(answer: Any, refused: list[str]) -> None:
    judge = Judge(lambda request: answer)
    with answering_through(judge):
        said = OpenAIWrapper("gpt-4o").generate("Hello!")
    assert "Failed to obtain answer via API." in said
    assert judge.refused == refused


def test_code_and_log_as_its_own_users_read_them(judge: Judge) -> None:
    code, answer, response = OpenAIWrapper("gpt-4o").generate_inner([{"type": "text", "value": "Hello!"}])
    assert (code, answer) == (0, "yes")
    assert response.error is None


def test_a_conversation(judge: Judge) -> None:
    turns = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": ["c"]},
    ]
    assert OpenAIWrapper("gpt-4o").chat(turns) == "yes"
    # M4Bench asks by this one.
    assert OpenAIWrapper("gpt-4o").generate_inner(turns)[:2] == (0, "yes")
    assert judge.asked[1].messages == judge.asked[0].messages
    assert [(turn.role, turn.text) for turn in judge.asked[0].messages] == [
        ("user", "a"),
        ("assistant", "b"),
        ("user", "c"),
    ]


def test_a_judge_of_the_author_s_own(judge: Judge) -> None:
    class Mine(OpenAIWrapper):
        def generate_inner(self, inputs: Any, **kwargs: Any) -> tuple[int, Any, Any]:
            return 0, f"mine: {inputs}", ""

    assert Mine("x").generate("Hello!") == "mine: Hello!"
    assert judge.asked == []
    assert issubclass(Mine, BaseAPI)


def test_it_is_taken_to_work_without_being_asked(judge: Judge) -> None:
    assert build_judge(model="gpt-4o").working()
    assert judge.asked == []


def test_without_a_judge_the_error_says_how_to_name_one() -> None:
    with pytest.raises(PlanError, match="--judge"):
        build_judge(model="gpt-4o").generate("Hello!")


@pytest.mark.parametrize("name", ["mask2former", "openclip-vit-l-14", "mplug"])
def test_local_judges_say_what_they_need(name: str) -> None:
    with pytest.raises(PlanError, match="It needs"):
        build_judge(model=name, nproc=2)


@pytest.mark.parametrize("is_checkout", [False, True])
def test_a_local_judge_that_came_with_a_benchmark_judges_it(tmp_path: Path, is_checkout: bool) -> None:
    folder = tmp_path / "ulmeval" / "dataset"
    (folder / "utils").mkdir(parents=True)
    if is_checkout:
        (tmp_path / "ulmeval" / "smp").mkdir()
    (folder / "utils" / "mplug.py").write_text(
        "from ...smp import *\nclass MPLUGModel:\n    def __init__(self, ckpt, **kwargs):\n        self.ckpt = ckpt\n"
    )
    (folder / "painted.py").write_text(
        "from .utils import build_judge\ndef made(name):\n    return build_judge(model=name, nproc=4)\n"
    )
    module = load_guest_file(folder / "painted.py")
    assert module.made("mplug").ckpt == "damo/mplug_visual-question-answering_coco_large_en"
    with pytest.raises(PlanError, match=r"utils/openclip\.py beside"):
        module.made("openclip-vit-l-14")


def test_a_judge_answers_in_the_place_of_a_model_for_questions_about_images(judge: Judge) -> None:
    judge._answer = lambda request: "Yes."
    assert build_judge(model="gpt-4o").vqa(pil.new("RGB", (30, 20)), "Is it red?") == "yes"
    assert judge.images() == [(30, 20)]
    assert judge.asked[0].text.startswith("Is it red?")


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("Yes", "yes"),
        ("**No.**", "no"),
        ("Yes, it is red.", "yes"),
        ('{"answer": "x", "verdict": "no"}', "no"),
        ("Light blue.", "light blue"),
    ],
)
def test_a_question_about_a_picture_is_answered_with_a_word(judge: Judge, said: str, word: str) -> None:
    judge._answer = lambda request: said
    assert build_judge(model="gpt-4o").vqa(pil.new("RGB", (30, 20)), "Is it red?") == word
    assert judge.refused == []


@pytest.mark.parametrize("said", ["Yes and no.", "It is hard to say what this is."])
def test_an_answer_that_is_no_word_is_refused(judge: Judge, said: str) -> None:
    judge._answer = lambda request: said
    build_judge(model="gpt-4o").vqa(pil.new("RGB", (30, 20)), "Is it red?")
    assert len(judge.refused) == 1


def test_calls_in_parallel_keep_their_order_and_the_judge(judge: Judge, tmp_path: Path) -> None:
    judge._answer = lambda request: request.text.upper()
    tasks = [{"message": text} for text in "abcdef"]
    save = str(tmp_path / "tmp.pkl")
    found = track_progress_rich(
        OpenAIWrapper("gpt-4o").generate, tasks, nproc=3, chunksize=3, keys=list(range(6)), save=save
    )
    assert found == list("ABCDEF")
    assert read_pickle(save) == dict(enumerate("ABCDEF"))


def test_what_is_saved_already_is_kept_and_asked_again(judge: Judge, tmp_path: Path) -> None:
    save = tmp_path / "tmp.pkl"
    track_progress_rich(str, [1], save=str(save), keys=["old"])
    assert track_progress_rich(lambda a, b: a + b, [(1, 2), [3, 4]], save=str(save), keys=["x", "old"]) == [3, 7]
    assert read_pickle(save) == {"x": 3, "old": 7}


def test_the_first_exception_ends_it_and_what_is_done_is_saved(tmp_path: Path) -> None:
    def half(number: int) -> float:
        return 1 / number

    with pytest.raises(ZeroDivisionError):
        track_progress_rich(half, [2, 0, 4], save=str(tmp_path / "tmp.pkl"), keys="abc")
    assert read_pickle(tmp_path / "tmp.pkl")["a"] == 0.5


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"func": 3, "tasks": []}, TypeError, "must be callable"),
        ({"func": str, "tasks": 3}, TypeError, "must be a collection"),
        ({"func": str, "tasks": [1], "nproc": 0}, ValueError, "nproc must be positive"),
        ({"func": str, "tasks": [1], "keys": []}, ValueError, "0 keys for 1 tasks"),
        ({"func": str, "tasks": [1], "save": "no/such/folder.pkl"}, ValueError, "no folder"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        track_progress_rich(**arguments)


def test_nothing_to_do() -> None:
    assert track_progress_rich(str) == []


def test_a_data_url_in_a_text_that_is_no_image_stays_text(judge: Judge) -> None:
    buffer = io.BytesIO(b"plain")
    text = f"data:text/plain;base64,{base64.b64encode(buffer.getvalue() * 40).decode()}"
    OpenAIWrapper("gpt-4o").generate(text)
    assert judge.asked[0].text == text


def test_threads_that_a_benchmark_starts_itself_ask_the_judge_of_the_run(judge: Judge) -> None:
    model = build_judge(model="gpt-4o")
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(model.generate, ["Is it red?", "Is it blue?"])) == ["yes", "yes"]
    assert sorted(one.text for one in judge.asked) == ["Is it blue?", "Is it red?"]
    assert pickle.loads(pickle.dumps(model)).img_size == model.img_size
