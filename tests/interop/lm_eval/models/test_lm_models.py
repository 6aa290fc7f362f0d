"""Models written for lm-eval: what they are called with, what is made of their answers, and whole runs with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from polymeter.cli.main import main
from polymeter.core.content import Text
from polymeter.core.errors import ModelError, PlanError
from polymeter.core.request import Generate, Loglikelihood, Message, Origin, Request, Response
from polymeter.interop.lm_eval.models import LmModel
from polymeter.interop.lm_eval.models.arguments import command_arguments, simple_parse_args_string
from polymeter.interop.lm_eval.models.base import LM, LM_MODELS, TemplateLM, register_model
from polymeter.interop.lm_eval.models.loading import find_lm


class Echo(LM):
    """Remembers what it was asked, and answers with what it is told to."""

    def __init__(self, **answers: Any) -> None:
        super().__init__()
        self.answers = answers
        self.calls: list[tuple[str, list[Any]]] = []

    def _all(self, method: str, requests: Sequence[Any], default: Any) -> list[Any]:
        self.calls.append((method, list(requests)))
        return [self.answers.get(method, default) for _ in requests]

    def loglikelihood(self, requests: Sequence[Any]) -> list[Any]:
        return self._all("loglikelihood", requests, (-1.5, True))

    def loglikelihood_rolling(self, requests: Sequence[Any]) -> list[Any]:
        return self._all("loglikelihood_rolling", requests, -7.0)

    def generate_until(self, requests: Sequence[Any]) -> list[Any]:
        return self._all("generate_until", requests, "an answer")


class Chatty(Echo):
    """Has a chat template."""

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        text = "".join(f"<{turn['role']}>{turn['content']}" for turn in chat_history)
        return text + ("<assistant>" if add_generation_prompt else "")


def request(*turns: tuple[Any, str], ask: Any = None, **origin: Any) -> Request:
    messages = tuple(Message(role, (Text(text),)) for role, text in turns)
    return Request(messages, ask or Generate(), Origin(**{"task": "t", "sample": "0", **origin}))


def ask(lm: LM, *requests: Request, **settings: bool) -> list[Response]:
    model = LmModel.around(lm, **settings)
    model.load()
    return model.respond(list(requests))


# --- calls and answers -----------------------------------------------------------------------------------------------


def test_a_choice_is_an_instance_with_context_and_continuation() -> None:
    echo = Echo()
    choices = Loglikelihood((" yes", " no"))
    (response,) = ask(echo, request(("user", "Is it?"), ask=choices, index=4))
    method, instances = echo.calls[0]
    assert method == "loglikelihood"
    assert [instance.args for instance in instances] == [("Is it?", " yes"), ("Is it?", " no")]
    assert [instance.idx for instance in instances] == [0, 1]
    assert (instances[0].task_name, instances[0].doc_id, instances[0].request_type) == ("t", 4, "loglikelihood")
    logprobs = response.outputs[0].logprobs
    assert logprobs is not None
    assert [(choice.logprob, choice.is_greedy) for choice in logprobs] == [(-1.5, True)] * 2


@pytest.mark.parametrize("answer", [-7.0, (-7.0,), [-7.0, False]])
def test_a_whole_text_is_rolled(answer: Any) -> None:
    echo = Echo(loglikelihood_rolling=answer)
    (response,) = ask(echo, request(("user", ""), ask=Loglikelihood(("a long text",), is_rolling=True)))
    method, instances = echo.calls[0]
    assert (method, instances[0].args) == ("loglikelihood_rolling", ("a long text",))
    logprobs = response.outputs[0].logprobs
    assert logprobs is not None
    assert logprobs[0].logprob == -7.0, "a number, or a tuple as the documentation there has it"


def test_generation_settings_are_as_their_author_wrote_them() -> None:
    echo = Echo()
    written = {"until": ["\n"], "max_gen_toks": 8, "do_sample": False}
    ask(echo, request(("user", "q"), generation_kwargs=written), request(("user", "r"), generation_kwargs=written))
    (_, instances), *_ = echo.calls
    assert [instance.args for instance in instances] == [("q", written), ("r", written)]
    instances[0].args[1].pop("until")
    assert instances[1].args[1] == written, "each request has its own settings: models pop what they have read"


def test_settings_of_a_task_of_another_system_have_the_names_that_models_read() -> None:
    echo = Echo()
    ask(echo, request(("user", "q"), ask=Generate(32, 0.5, stop=("END",), extra={"top_k": 3})))
    settings = echo.calls[0][1][0].args[1]
    assert settings == {"max_gen_toks": 32, "temperature": 0.5, "do_sample": True, "top_k": 3, "until": ["END"]}


def test_a_conversation_goes_through_the_models_template_where_the_request_or_user_says_so() -> None:
    turns = (("system", "S"), ("user", "Q"))
    by_request, begun, plain, by_user, whole = (Chatty() for _ in range(5))
    ask(by_request, request(*turns, ask=Generate(template="chat")))
    ask(begun, request(*turns, ("assistant", "It is"), ask=Loglikelihood(("x",), template="chat")))
    ask(plain, request(*turns))
    ask(by_user, request(*turns), apply_chat_template=True)
    ask(whole, request(*turns, ask=Generate(template="none")), apply_chat_template=True)
    contexts = [lm.calls[0][1][0].args[0] for lm in (by_request, begun, plain, by_user, whole)]
    assert contexts == [
        "<system>S<user>Q<assistant>",
        "<system>S<user>Q<assistant>It is",
        "S\n\nQ",
        "<system>S<user>Q<assistant>",
        "SQ",
    ]


def test_a_model_without_a_template_refuses_a_conversation() -> None:
    with pytest.raises(ModelError, match="has no apply_chat_template"):
        ask(Echo(), request(("user", "q"), ask=Generate(template="chat")))


@pytest.mark.parametrize(
    ("method", "answer", "message"),
    [("generate_until", None, "nothing in place of text"), ("loglikelihood", -1.0, "a float in place of")],
)
def test_an_answer_of_no_use_is_a_failure_of_its_request(method: str, answer: Any, message: str) -> None:
    parameters = Generate() if method == "generate_until" else Loglikelihood(("x",))
    (response,) = ask(Echo(**{method: answer}), request(("user", "q"), ask=parameters))
    assert response.error is not None
    assert message in response.error.message


class Short(Echo):
    """Loses an answer."""

    def generate_until(self, requests: Sequence[Any]) -> list[Any]:
        return super().generate_until(requests)[1:]


def test_a_lost_answer_fails_the_call() -> None:
    with pytest.raises(ModelError, match="gave 1 answers to 2 requests"):
        ask(Short(), request(("user", "q")), request(("user", "r")))


def test_methods_decide_what_a_model_can_do() -> None:
    class Speaks(LM):
        def generate_until(self, requests: Sequence[Any]) -> list[str]:
            return ["x" for _ in requests]

        def loglikelihood(self, requests: Sequence[Any]) -> list[tuple[float, bool]]:
            raise NotImplementedError("not here")

    traits = LmModel.around(Speaks()).traits
    assert traits.requests == {"generate": True, "loglikelihood": False, "generate_image": False}
    assert traits.modalities["image"] is False, "only a model that says MULTIMODAL takes images"


# --- TemplateLM ------------------------------------------------------------------------------------------------------


class Letters(TemplateLM):
    """One token for each character; 0 begins and ends a text."""

    eot_token_id = 0

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[list[int], list[int]]] = []

    def tok_encode(self, string: str, add_special_tokens: bool | None = None, **kwargs: Any) -> list[int]:
        return [ord(char) - 96 if char.isalpha() else 99 for char in string]

    def _loglikelihood_tokens(self, requests: list[Any], **kwargs: Any) -> list[tuple[float, bool]]:
        self.pairs += [(before, after) for _, before, after in requests]
        return [(-float(len(after)), False) for _, _, after in requests]


def test_a_pair_is_encoded_together_and_space_belongs_to_what_follows() -> None:
    lm = Letters()
    ask(lm, request(("user", "ab "), ask=Loglikelihood(("c",))), request(("user", ""), ask=Loglikelihood(("c",))))
    assert lm.pairs == [([1, 2], [99, 3]), ([0], [3])], "an empty context is the token that stands before a text"


def test_chat_template_is_that_of_the_tokenizer() -> None:
    class Tokenizer:
        chat_template: ClassVar[Any] = {"default": "D", "tools": "T"}

    lm = Letters()
    assert lm.chat_template(True) == "", "there is no tokenizer"
    lm.tokenizer = Tokenizer()
    assert (lm.chat_template(False), lm.chat_template(True), lm.chat_template("tools")) == (None, "D", "T")
    with pytest.raises(ValueError, match="default, tools"):
        lm.chat_template("other")


# --- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["pretrained=a/b,dtype=float32", "n=3"], {"pretrained": "a/b", "dtype": "float32", "n": 3}),
        (["x=[1,2],y={'a': 'b,c'},z='q,r'"], {"x": [1, 2], "y": {"a": "b,c"}, "z": "q,r"}),
        (["a=True,b=false,c=1e-3,d=None,e=-1"], {"a": True, "b": False, "c": 0.001, "d": None, "e": -1.0}),
        (['{"pretrained": "a", "kwargs": {"x": 1}}'], {"pretrained": "a", "kwargs": {"x": 1}}),
        ([], {}),
    ],
)
def test_the_command_line_reads_literals(words: list[str], expected: dict[str, Any]) -> None:
    assert command_arguments(words) == expected


@pytest.mark.parametrize(("words", "message"), [(["pretrained"], "not of the form"), (['{"a": '], "not a JSON object")])
def test_a_word_that_is_no_argument_is_refused(words: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        command_arguments(words)


def test_python_splits_at_every_comma() -> None:
    read = simple_parse_args_string("a=1,b=-2,c='3',d=none,e=true,f=x=y,g=0.5")
    assert read == {"a": 1, "b": -2, "c": "3", "d": None, "e": True, "f": "x=y", "g": 0.5}
    assert simple_parse_args_string("") == {}


# --- files and runs --------------------------------------------------------------------------------------------------

MODEL = """\
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model


@register_model("toy-lm", "toy")
class Toy(LM):
    def __init__(self, bonus: float = 0.0, batch_size: int = 1, **kwargs):
        super().__init__()
        self.bonus, self.batch_size = bonus, batch_size

    def loglikelihood(self, requests):
        return [(-len(r.args[1]) + self.bonus, False) for r in requests]

    def loglikelihood_rolling(self, requests):
        return [-float(len(r.args[0])) for r in requests]

    def generate_until(self, requests):
        return [f"{r.args[0][-1]} of {r.doc['word']}" for r in requests]
"""
CHOICE = """\
task: choice
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "Which is short?"
doc_to_choice: [tiny, enormous]
doc_to_target: "{{right}}"
metric_list: [{metric: acc}]
"""
SPEECH = """\
task: speech
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "Say {{word}}"
doc_to_target: "{{word[-1]}} of {{word}}"
metric_list: [{metric: exact_match}]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(LM_MODELS, "_models", dict(LM_MODELS._models))
    (tmp_path / "toy.py").write_text(MODEL)
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "choice.yaml").write_text(CHOICE)
    (tmp_path / "tasks" / "speech.yaml").write_text(SPEECH)
    rows = [{"word": "cat", "right": 0}, {"word": "dog", "right": 1}]
    (tmp_path / "tasks" / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_any_benchmark_runs_with_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "run --model lm:toy --model-path toy.py --model-args bonus=0.5 --tasks choice,speech --include-path tasks"
    code = main([*words.split(), "-q", "-o", "run"])
    assert code == 0, capsys.readouterr()
    tasks = json.loads((folder / "run" / "results.json").read_text())["tasks"]
    assert tasks["choice"]["results"][0]["value"] == 0.5, "the shorter choice wins"
    assert tasks["speech"]["results"][0]["value"] == 1.0
    model = json.loads((folder / "run" / "run.json").read_text())["model"]
    assert model["identity"]["arguments"] == {"bonus": 0.5}, "the batch size is none of its identity"


def test_another_argument_is_refused_with_the_nearest(folder: Path) -> None:
    (folder / "strict.py").write_text(MODEL.replace(", **kwargs", ""))
    with pytest.raises(PlanError) as refused:
        LmModel("toy", "strict.py", bonos=1)
    assert "bonos" in refused.value.what
    assert "bonus" in refused.value.hint


def test_a_file_with_several_models_needs_a_name(folder: Path) -> None:
    (folder / "two.py").write_text(MODEL + MODEL.partition("\n\n\n")[2].replace("Toy", "Other").replace("toy", "other"))
    with pytest.raises(PlanError, match=r"several models: other-lm, toy-lm"):
        find_lm("", "two.py")
    assert find_lm("other", "two.py").cls.__name__ == "Other"
    with pytest.raises(PlanError) as missing:
        find_lm("tay", "toy.py")
    assert "toy" in missing.value.hint


def test_only_models_are_registered() -> None:
    with pytest.raises(TypeError, match="not a subclass of LM"):
        register_model("no-lm")(str)  # type: ignore[type-var]
