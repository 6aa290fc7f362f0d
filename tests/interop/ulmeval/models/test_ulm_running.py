"""What wrappers are called with, and what is made of what they give."""

from __future__ import annotations

import random
import threading
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image as Pictures

from polymeter.core.content import Image, Text
from polymeter.core.request import Generate, GenerateImage, Loglikelihood, Message, Origin, Request, Response
from polymeter.core.rows import RowFunctions, RowView
from polymeter.interop.ulmeval.models import UlmModel
from polymeter.interop.ulmeval.models.base import BaseAPI, BaseModel

RED = Pictures.new("RGB", (2, 2), "red")


def noise() -> Pictures.Image:
    """A picture of what the global generators say."""
    values = [random.randrange(256), int(np.random.randint(256)), random.randrange(256)]  # noqa: NPY002
    return Pictures.new("RGB", (1, 1), tuple(values))


class Painter(BaseModel):
    """Draws noise, one picture at a time."""

    def generate_inner(self, message: Any, dataset: Any = None) -> Any:
        return noise()


class BatchPainter(BaseModel):
    """The same, all at once."""

    def batch_generation_inner(self, msgs: Any, dataset: Any, num_generations: int) -> list[Any]:
        return [noise() for _ in range(num_generations)]


class Teller(BaseModel):
    """Remembers what it is asked and answers with what it is given."""

    def __init__(self, answer: Any = "text") -> None:
        self.answer = answer
        self.seen: list[tuple[Any, Any]] = []

    def generate_inner(self, message: Any, dataset: Any = None) -> Any:
        self.seen.append((message, dataset))
        return self.answer(message) if callable(self.answer) else self.answer


def request(text: str = "a cat", *parts: Any, ask: Any = None, **origin: Any) -> Request:
    place = Origin(**{"task": "t", "sample": "0", **origin})
    return Request((Message("user", (*parts, Text(text))),), ask or GenerateImage(), place)


def repeats(n: int, first: int = 0, text: str = "a cat", ask: Any = None) -> list[Request]:
    """The repeats of one prompt, with seeds from ``first`` on."""
    one = request(text, ask=ask)
    parameters = [replace(one.parameters, seed=first + number, repeat=number) for number in range(n)]
    return [replace(one, parameters=each) for each in parameters]


def answered(wrapper: Any, *requests: Request) -> list[Response]:
    model = UlmModel.around(wrapper)
    model.load()
    return model.respond(list(requests))


def pixels(*responses: Response) -> list[Any]:
    assert [response.error for response in responses] == [None] * len(responses)
    return [response.outputs[0].images[0].getpixel((0, 0)) for response in responses]


def problem(wrapper: Any, ask: Any = None, n: int = 1) -> str:
    response, *_ = answered(wrapper, *repeats(n) if n > 1 else (request(ask=ask),))
    assert response.error is not None
    return response.error.message


# --- what it is called with ------------------------------------------------------------------------------------------


def test_messages_are_items_with_local_images_and_the_benchmarks_name(tmp_path: Path) -> None:
    RED.save(tmp_path / "red.png")
    teller = Teller(RED)
    asked = request("make it blue", Image(tmp_path / "red.png"), Image(RED))
    answered(teller, asked, request(metadata={"dataset": "Mine_EN"}), Request(asked.messages, GenerateImage()))
    (items, dataset), (_, told), (_, unknown) = teller.seen
    assert items[0] == {"type": "image", "value": str(tmp_path / "red.png")}
    assert Path(items[1]["value"]).suffix == ".png"
    assert items[2] == {"type": "text", "value": "make it blue"}
    assert (dataset, told, unknown) == ("t", "Mine_EN", None)


def test_images_written_for_a_wrapper_go_when_it_does() -> None:
    paths: list[Path] = []

    def look(message: Any) -> Any:
        paths.append(Path(message[0]["value"]))
        assert paths[-1].is_file()
        return RED

    model = UlmModel.around(Teller(look))
    model.respond([request("x", Image(RED))])
    model.close()
    assert paths
    assert not paths[0].exists()


def test_what_a_wrapper_does_to_its_message_harms_nobody() -> None:
    teller = Teller(lambda message: message.clear() or RED)
    asked = repeats(2)
    assert len(pixels(*answered(teller, *asked))) == 2
    assert asked[0].text == "a cat"


def test_settings_reach_the_hooks_that_name_them() -> None:
    class Sized(BaseModel):
        def generate_inner(
            self, message: Any, dataset: Any = None, width: int = 1, height: int = 1, **rest: Any
        ) -> Any:
            assert not rest
            return Pictures.new("RGB", (width, height))

    ask = GenerateImage(size=(3, 2), extra={"num_inference_steps": 5})
    (response,) = answered(Sized(), request(ask=ask))
    assert response.outputs[0].images[0].size == (3, 2)
    why = "the wrapper's hooks have no such argument."
    assert UlmModel.around(Sized()).ignores(ask) == {"num_inference_steps": why}
    assert UlmModel.around(Painter()).ignores(ask) == {"size": why, "num_inference_steps": why}
    assert UlmModel.around(Painter()).ignores(Generate(4, 0.0)) == {"max_new_tokens": why, "temperature": why}


# --- seeds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Painter, BatchPainter])
def test_neither_order_nor_company_changes_a_picture(kind: Any) -> None:
    pairs = [repeats(2, first) for first in (3, 50, 900)]
    together = pixels(*answered(kind(), *[one for pair in pairs for one in pair]))
    backwards = pixels(*answered(kind(), *[one for pair in reversed(pairs) for one in pair]))
    alone = [color for pair in pairs for color in pixels(*answered(kind(), *pair))]
    assert together == [*backwards[4:], *backwards[2:4], *backwards[:2]] == alone
    assert len({str(one) for one in together}) == 6


def test_each_generation_has_its_own_seed() -> None:
    both = pixels(*answered(Painter(), *repeats(2, 5)))
    second = pixels(*answered(Painter(), *repeats(1, 6)))
    assert both[1] == second[0]
    assert both[0] != both[1]


def test_the_process_keeps_its_generators() -> None:
    random.seed(11)
    np.random.seed(11)  # noqa: NPY002
    expected = random.random(), np.random.rand()  # noqa: NPY002
    random.seed(11)
    np.random.seed(11)  # noqa: NPY002
    answered(Painter(), *repeats(3))
    assert (random.random(), np.random.rand()) == expected  # noqa: NPY002


def test_torch_is_seeded_and_kept() -> None:
    torch = pytest.importorskip("torch")

    class Torch(BaseModel):
        def generate_inner(self, message: Any, dataset: Any = None) -> Any:
            return Pictures.new("L", (1, 1), int(torch.randint(256, (1,))))

    torch.manual_seed(3)
    expected = torch.rand(4).tolist()
    torch.manual_seed(3)
    first, again, other = (pixels(*answered(Torch(), *repeats(4, seed))) for seed in (1, 1, 77))
    assert first == again != other
    assert torch.rand(4).tolist() == expected


def test_gradients_are_off_as_wrappers_expect() -> None:
    torch = pytest.importorskip("torch")

    class Network(BaseModel):
        def __init__(self) -> None:
            self.layer = torch.nn.Linear(2, 2)

        def generate_inner(self, message: Any, dataset: Any = None) -> Any:
            return Pictures.new("L", (1, 1), int(self.layer(torch.ones(2)).abs().numpy()[0]))

    assert len(pixels(answered(Network(), request())[0])) == 1
    assert len(Network().generate("a")) == 1
    assert torch.is_grad_enabled()


# --- what comes back -------------------------------------------------------------------------------------------------


def test_pictures_in_every_form_are_pictures(tmp_path: Path) -> None:
    RED.save(tmp_path / "red.png")
    grey = np.full((2, 3), 0.5)
    forms = [RED, str(tmp_path / "red.png"), tmp_path / "red.png", [RED], np.asarray(RED), np.asarray(RED) / 255]
    for form in forms:
        assert pixels(answered(Teller(form), request())[0]) == [(255, 0, 0)]
    assert answered(Teller(grey), request())[0].outputs[0].images[0].size == (3, 2)


def test_a_picture_in_a_file_is_read_before_the_next_is_drawn(tmp_path: Path) -> None:
    colours = iter(["red", "blue"])

    def draw(message: Any) -> str:
        Pictures.new("RGB", (1, 1), next(colours)).save(tmp_path / "out.png")
        return str(tmp_path / "out.png")

    assert pixels(*answered(Teller(draw), *repeats(2))) == [(255, 0, 0), (0, 0, 255)]


@pytest.mark.parametrize("made", [Pictures.new("RGB", (1, 1)), np.zeros((1, 1, 3), np.uint8)])
def test_a_picture_that_is_drawn_over_again_and_again_is_kept_as_it_was(made: Any) -> None:
    shades = iter([10, 20, 30, 40])

    def draw(message: Any) -> Any:
        shade = next(shades)
        if isinstance(made, np.ndarray):
            made[:] = shade
        else:
            made.putpixel((0, 0), (shade,) * 3)
        return made

    responses = answered(Teller(draw), *repeats(2) * 2)
    assert [color[0] for color in pixels(*responses)] == [10, 20, 30, 40]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "gave nothing where an image was asked for"),
        ({"image": RED}, "gave a dict where an image was asked for"),
        ("Failed to obtain answer", "gave the text 'Failed to obtain answer' where an image was asked for"),
        (7, "gave an int where an image was asked for"),
        ([RED, RED, RED], "generate_inner gave 3 images where 1 was asked for"),
        ([], "generate_inner gave 0 images where 1 was asked for"),
        (Path("/nowhere/a.png"), "gave the path '/nowhere/a.png', and no file is there"),
        (Path(__file__), "which is not an image that can be read"),
        (np.zeros((2, 2, 7), np.uint8), "gave an array of shape (2, 2, 7) and type uint8"),
        (np.full((2, 2), 3.5), "gave an array of shape (2, 2) and type float64"),
        (SimpleNamespace(images=[RED]), "gave a SimpleNamespace where an image was asked for"),
    ],
)
def test_a_wrong_result_is_that_samples_error_and_says_what_came(given: Any, said: str) -> None:
    assert said in problem(Teller(given))


def test_a_batch_of_another_size_says_both_numbers() -> None:
    class Wrong(BaseModel):
        def batch_generate_inner(self, message: Any, dataset: Any, num_generations: int) -> Any:
            return [RED] * 3

    said = problem(Wrong(), n=4)
    assert "batch_generate_inner gave 3 images where 4 were asked for" in said


def test_texts_answer_text_and_nothing_else() -> None:
    assert [response.text for response in answered(Teller("B"), *repeats(2, ask=Generate()))] == ["B", "B"]
    assert "gave an Image where a text was asked for" in problem(Teller(RED), Generate())
    assert "gives images and text, not loglikelihood" in problem(Teller(), Loglikelihood(("a",)))


def test_an_exception_is_that_samples_error_with_its_place() -> None:
    def draw(message: Any) -> Any:
        if message[0]["value"] == "bad":
            raise ValueError("no such style")
        return RED

    good, bad, also = answered(Teller(draw), request("a"), request("bad"), request("b"))
    assert good.error is None
    assert also.error is None
    assert bad.error is not None
    assert "The wrapper Teller raised ValueError: no such style" in bad.error.message
    assert f"{Path(__file__)}:" in bad.error.message
    assert bad.error.kind == "permanent"


def test_running_out_of_memory_is_told_apart() -> None:
    def draw(message: Any) -> Any:
        raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")

    (response,) = answered(Teller(draw), request())
    assert response.error is not None
    assert response.error.kind == "out_of_memory"


def test_a_missing_input_image_is_an_error_of_the_data(tmp_path: Path) -> None:
    (response,) = answered(Teller(RED), request("x", Image(tmp_path / "gone.png")))
    assert response.error is not None
    assert response.error.kind == "data"
    assert "gone.png" in response.error.message


# --- idioms ----------------------------------------------------------------------------------------------------------


def test_a_class_of_its_own_without_bases_works() -> None:
    class Duck:
        def generate_inner(self, message: Any, dataset: Any = None) -> Any:
            return RED

    class Whole:
        def generate(self, message: Any, dataset: Any = None, num_generations: int = 1) -> Any:
            return [RED] * num_generations

    class Plain:
        def generate(self, message: Any) -> Any:
            return RED

    for kind in (Duck, Whole, Plain):
        assert len(pixels(*answered(kind(), *repeats(3)))) == 3


def test_a_subclass_that_replaces_generate_is_called_by_it() -> None:
    class Own(Painter):
        def generate(self, message: Any, dataset: Any = None, num_generations: int = 1) -> Any:
            return [Pictures.new("RGB", (1, 1), "blue")] * num_generations

    assert pixels(*answered(Own(), *repeats(2))) == [(0, 0, 255)] * 2


def test_a_generate_that_calls_ours_keeps_the_samples_seed() -> None:
    class Own(Painter):
        def generate(self, message: Any, dataset: Any = None, num_generations: int = 1) -> Any:
            return super().generate(message, dataset, num_generations)

    first, other = answered(Own(), *repeats(1, 1), *repeats(1, 2))
    assert pixels(first) == pixels(*answered(Painter(), *repeats(1, 1)))
    assert pixels(first) != pixels(other)


def test_a_wrapper_without_hooks_says_what_to_write() -> None:
    assert "BaseModel has neither generate_inner nor batch_generate_inner. Write one of them." in problem(BaseModel())


class Endpoint(BaseAPI):
    """Answers once all of the others have been asked as well."""

    def __init__(self, together: int = 1, code: int = 0, answer: Any = RED) -> None:
        super().__init__(retry=2, wait=0, verbose=False)
        self.code, self.answer, self.n_asked = code, answer, 0
        self.together = threading.Barrier(together, timeout=10)

    def generate_inner(self, inputs: Any, **kwargs: Any) -> Any:
        self.n_asked += 1
        self.together.wait()
        return self.code, self.answer, "the log"


def test_an_endpoints_wrapper_is_asked_from_several_threads() -> None:
    wrapper = Endpoint(together=4)
    assert UlmModel.around(wrapper).batch_hint == 16
    assert UlmModel.around(wrapper).traits.is_endpoint
    assert [pixels(one) for one in answered(wrapper, *[request()] * 4)] == [[(255, 0, 0)]] * 4


def test_a_code_other_than_0_is_an_error_and_no_text() -> None:
    wrapper = Endpoint(code=500, answer="Failed to obtain answer via API.")
    (response,) = answered(wrapper, request(ask=Generate()))
    assert response.error is not None
    assert "generate_inner failed with the code 500: the log" in response.error.message
    assert wrapper.n_asked == 2
    said = problem(Endpoint(answer=None))
    assert "generate_inner failed with the code -1: it gave the code 0, and no answer" in said


def test_an_endpoints_wrapper_needs_no_base_class() -> None:
    class Remote:
        is_api = True

        def generate_inner(self, inputs: Any, **kwargs: Any) -> Any:
            return 0, f"{kwargs['dataset']}", None

    assert [response.text for response in answered(Remote(), *repeats(2, ask=Generate()))] == ["t", "t"]


def test_a_wrapper_of_an_endpoint_may_have_generate_alone() -> None:
    class Remote:
        is_api = True

        def generate(self, message: Any, **kwargs: Any) -> Any:
            return message[0]["value"]

    responses = answered(Remote(), *repeats(2, text="hi", ask=Generate()))
    assert [response.text for response in responses] == ["hi", "hi"]


def test_an_exception_of_an_endpoints_client_keeps_its_place() -> None:
    class Down(BaseAPI):
        def generate_inner(self, inputs: Any, **kwargs: Any) -> Any:
            raise ConnectionError("no route")

    said = problem(Down(retry=2, wait=0))
    assert "generate_inner of Down raised ConnectionError: no route" in said
    assert str(Path(__file__)) in said


# --- prompts of its own ----------------------------------------------------------------------------------------------


class Prompting(Teller):
    """Brings its own prompts for one benchmark."""

    def use_custom_prompt(self, dataset: str) -> bool:
        return dataset == "Mine"

    def build_prompt(self, line: Any, dataset: str | None = None) -> Any:
        assert isinstance(line, pd.Series)
        return [*self.dump_image(line, dataset), f"{dataset}: {line['question']}"]


def own_prompt(wrapper: Any, row: Any, dataset: str, dump_image: Any = None) -> list[Any] | None:
    """What a wrapper makes of a row: texts, and the paths of images."""
    model = UlmModel.around(wrapper)
    assert model.traits.has_own_prompts
    functions = RowFunctions(lambda index: row, prompt_row=lambda index: row, dump_image=dump_image)
    model.rows = lambda origin: RowView(0, functions, lambda step: nullcontext())
    messages = model.own_prompt(Origin(dataset, "0"))
    if messages is None:
        return None
    return [part.text if isinstance(part, Text) else str(part.source) for part in messages[0].parts]


def test_a_wrappers_own_prompt_replaces_the_benchmarks(tmp_path: Path) -> None:
    RED.save(tmp_path / "red.png")
    row = {"index": 3, "question": "what?"}
    dump = lambda line: [str(tmp_path / "red.png")]  # noqa: E731
    assert own_prompt(Prompting(), row, "Other", dump) is None
    expected = [str(tmp_path / "red.png"), "Mine: what?"]
    assert own_prompt(Prompting(), row, "Mine", dump) == expected
    assert own_prompt(Prompting(), pd.Series(row), "Mine", dump) == expected
    assert own_prompt(Prompting(), row, "Mine") == expected[1:]


def test_the_images_of_a_row_are_written_where_the_benchmark_writes_none() -> None:
    model = UlmModel.around(Prompting())
    functions = RowFunctions(lambda index: {"question": "what?", "picture": [RED]})
    model.rows = lambda origin: RowView(0, functions, lambda step: nullcontext())
    messages = model.own_prompt(Origin("Mine", "0"))
    assert messages is not None
    assert next(Request(messages, Generate()).images()).open().getpixel((0, 0)) == (255, 0, 0)


def test_a_wrapper_without_prompts_of_its_own_says_so() -> None:
    painter = Painter()
    assert not UlmModel.around(painter).traits.has_own_prompts
    painter.use_custom_prompt = lambda dataset: False  # type: ignore[method-assign]
    assert own_prompt(painter, {}, "D") is None


def test_a_wrapper_without_set_dump_image_gets_the_function(tmp_path: Path) -> None:
    class Duck:
        def use_custom_prompt(self, dataset: str) -> bool:
            return True

        def build_prompt(self, line: Any, dataset: str | None = None) -> Any:
            return self.dump_image_func(line)  # type: ignore[attr-defined]

        def generate_inner(self, message: Any, dataset: Any = None) -> Any:
            return RED

    assert own_prompt(Duck(), {"a": 1}, "D", lambda line: "from the benchmark") == ["from the benchmark"]
