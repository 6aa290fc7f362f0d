"""A model whose answers follow from the question alone. It writes down every question, and dies when it is told to."""

import hashlib
import os
import re
import signal
import time
from dataclasses import fields

import polymeter
from PIL import Image


def told(text):
    """Write a question down; die at the one that ``ORACLE_DIES_AT`` names, once what was answered is on disk."""
    place = os.environ.get("ORACLE_CALLS", "calls.log")
    with open(place, "a+", encoding="utf-8") as log:
        log.write(repr(text) + "\n")
        log.seek(0)
        count = len(log.readlines())
    if count == int(os.environ.get("ORACLE_DIES_AT", "-1")):
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)


def mark(*parts):
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()[0]


def answer(text, seed=0):
    """The sum, sometimes wrong; else a letter; else a word."""
    found = re.search(r"(\d+) \+ (\d+)", text)
    if found:
        return f"It is {int(found[1]) + int(found[2]) + (mark(text, seed) % 4 == 0)}"
    return "ABC"[mark(text, seed) % 3] if "Options:" in text else f"word {mark(text, seed)}"


@polymeter.register_model("oracle_asked")
class Asked(polymeter.BatchModel):
    batch_hint = 4

    def __init__(self, style="plain"):
        self.style = style
        kinds = {"generate": True, "loglikelihood": True, "generate_image": True}
        # The field has had two names; the file's bytes are part of the recorded runs, so it knows both.
        name = "requests" if "requests" in {f.name for f in fields(polymeter.ModelTraits)} else "asks"
        self.traits = polymeter.ModelTraits(family="oracle", modalities={"text": True, "image": True}, **{name: kinds})

    @property
    def identity(self):
        return {"backend": "oracle_asked", "style": self.style}

    def respond(self, requests):
        return [self.one(request) for request in requests]

    def one(self, request):
        parameters = request.parameters if hasattr(request, "parameters") else request.ask
        if getattr(parameters, "repeat", 0) == 0:
            told((request.text, len(list(request.images()))))
        seeds = parameters.seeds if hasattr(parameters, "seeds") else [parameters.seed]
        if isinstance(parameters, polymeter.GenerateImage):
            pictures = [Image.new("RGB", (16, 12), (mark(request.text), (seed or 0) % 256, 9)) for seed in seeds]
            return polymeter.Response(tuple(polymeter.Output(images=(picture,)) for picture in pictures))
        return polymeter.Response.of_text(*(answer(request.text, seed) for seed in seeds or [0]))
