"""Writes logs of Inspect on made data: ``python -m conformance.logs.make_inspect FOLDER``. It runs where Inspect is."""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from pathlib import Path

from inspect_ai import Epochs, Task
from inspect_ai import eval as run
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, choice, exact, includes, match, mean, scorer, stderr
from inspect_ai.solver import generate, multiple_choice
from PIL import Image

from conformance.logs.cleaning import keep

SAID = {
    "1 + 1": ["2", "two"],
    "2 + 2": ["4", "4"],
    "3 + 3": ["It is 6", "7"],
    "4 + 4": ["9", "9"],
    "France": ["Paris"],
    "Japan": ["Kyoto"],
    "Peru": ["Lima"],
    "Nepal": [""],
    "Laos": [None],
    "sky": ["ANSWER: B"],
    "grass": ["ANSWER: A"],
    "blood": ["I cannot tell."],
    "red.png": ["red"],
    "green.png": ["blue"],
    "short": ["Once upon a time"],
    "long": ["Twice"],
}
"""What the model says, by a piece of the question; one answer for each epoch. ``None``: it fails."""


def speaker():
    """A model that says what is written above, in turn."""
    turns: dict[str, int] = {}

    def say(messages, tools, tool_choice, config):
        text = messages[-1].text
        piece = next(piece for piece in SAID if piece in text)
        turn = turns[piece] = turns.get(piece, -1) + 1
        if SAID[piece][turn] is None:
            raise RuntimeError("The model is gone.")
        output = ModelOutput.from_content("mockllm/speaker", SAID[piece][turn])
        tokens = 20 if piece == "long" else 2
        output.usage = ModelUsage(input_tokens=5, output_tokens=tokens, total_tokens=5 + tokens)
        return output

    return get_model("mockllm/speaker", custom_outputs=say, memoize=False)


@scorer(metrics={"same": [accuracy(), stderr()], "length": [mean()]})
def spelled():
    """Two numbers for each answer."""

    async def score(state, target):
        said = state.output.completion
        if not said:
            return Score.unscored(explanation="Nothing was said.")
        return Score(
            value={"same": "C" if said == target.text else "I", "length": len(said) / len(target.text)},
            answer=said,
            explanation=f"{said} beside {target.text}",
        )

    return score


def drawing(colour: str) -> str:
    """An image of one colour, as Inspect wants it."""
    buffer = io.BytesIO()
    Image.new("RGB", (4, 4), colour).save(buffer, "PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def tasks() -> list[Task]:
    """The benchmarks: epochs, failures and answers without a score, multiple choice, images, limits."""
    sums = [Sample(input=f"What is {i} + {i}?", target=str(2 * i), id=i) for i in range(1, 5)]
    countries = ("France", "Paris", "Europe"), ("Japan", "Tokyo", "Asia"), ("Peru", "Lima", "America")
    countries += ("Nepal", "Kathmandu", "Asia"), ("Laos", "Vientiane", "Asia")
    capitals = [
        Sample(input=f"What is the capital of {name}?", target=capital, id=name, metadata={"continent": continent})
        for name, capital, continent in countries
    ]
    colours = [
        Sample(input=f"Which colour has {thing}?", choices=["green", "blue", "red"], target=right)
        for thing, right in (("the sky", "B"), ("grass", "A"), ("blood", "C"))
    ]
    pictures = [
        Sample(
            input=[ChatMessageUser(content=[ContentText(text=f"Name {name}.png."), ContentImage(image=drawing(name))])],
            target=name,
            id=name,
        )
        for name in ("red", "green")
    ]
    stories = [Sample(input=f"Tell a {length} story.", target="Once", id=length) for length in ("short", "long")]
    return [
        Task(
            name="sums",
            dataset=MemoryDataset(sums, name="sums"),
            solver=generate(),
            scorer=[match(), includes()],
            epochs=Epochs(2, ["mean", "at_least_1"]),
            version=2,
        ),
        Task(
            name="capitals",
            dataset=MemoryDataset(capitals, name="capitals"),
            solver=generate(),
            scorer=[exact(), spelled()],
            fail_on_error=False,
        ),
        Task(
            name="colours",
            dataset=MemoryDataset(colours, name="colours"),
            solver=multiple_choice(),
            scorer=choice(),
        ),
        Task(
            name="pictures",
            dataset=MemoryDataset(pictures, name="pictures"),
            solver=generate(),
            scorer=exact(),
        ),
        Task(
            name="stories",
            dataset=MemoryDataset(stories, name="stories"),
            solver=generate(),
            scorer=includes(),
            token_limit=10,
        ),
    ]


def main(target: Path) -> None:
    """Write the logs: archives of all tasks, and JSON of the small ones."""
    with tempfile.TemporaryDirectory() as folder:
        for kind, kept in (("eval", None), ("json", ("pictures",))):
            for task in tasks():
                if kept is not None and task.name not in kept:
                    continue
                (log,) = run(
                    task,
                    model=speaker(),
                    log_dir=folder,
                    log_format=kind,
                    display="none",
                    max_samples=1,
                    max_connections=1,
                    temperature=0.0,
                    max_tokens=16,
                )
                named = Path(folder) / kind / f"{task.name}.{kind}"
                named.parent.mkdir(exist_ok=True)
                Path(log.location).rename(named)
        keep(Path(folder), target)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
