"""Recognising English speech with PocketSphinx, which decodes with hidden Markov models.

The acoustic model, the dictionary and the language model are part of the ``pocketsphinx`` wheel, so this runs offline
on any CPU. It does not understand instructions: whatever the prompt, the answer is the words in the audio, in lower
case.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from polymeter.core.content import Audio, Media
from polymeter.core.errors import PlanError, PolymeterError, did_you_mean
from polymeter.core.media.showing import AudioRule
from polymeter.core.model import BatchModel, ModelTraits
from polymeter.core.names.registry import missing_package
from polymeter.core.request import Error, Output, Parameters, Request, Response, Usage
from polymeter.core.settings.generation_names import EVERY_NAME
from polymeter.data.audio import samples
from polymeter.data.showing import shown_audio
from polymeter.models.transcripts import ignored_limit

RATE = 16_000
"""Samples per second of the recordings that the acoustic model was trained on."""

VOCABULARIES: Mapping[str, str] = {
    "english": "",
    "digits": "zero one two three four five six seven eight nine",
}
"""The words that each vocabulary has, any number of times in any order; none: the language model of general English."""

_SCALE = 32768


class PocketSphinxModel(BatchModel):
    """PocketSphinx as a model.

    Args:
        name: The vocabulary: ``english``, or ``digits``, which is more accurate for them and several times as fast.

    Raises:
        PlanError: if there is no such vocabulary, or ``pocketsphinx`` or ``soundfile`` is not installed.
    """

    batch_hint = 8

    def __init__(self, name: str = "english") -> None:
        for package in ("pocketsphinx", "soundfile"):
            if find_spec(package) is None:
                raise missing_package(package, "model 'pocketsphinx'", "speech")
        if name not in VOCABULARIES:
            hint = did_you_mean(name, VOCABULARIES) or f"There are: {', '.join(VOCABULARIES)}."
            raise PlanError(f"Model 'pocketsphinx' has no vocabulary {name!r}.", where="--model", hint=hint)
        self.traits = ModelTraits(
            family="pocketsphinx",
            requests={"generate": True, "loglikelihood": False, "generate_image": False},
            modalities={"text": True, "image": False, "audio": True, "video": False},
            ignores_text="it returns the words in the audio",
        )
        self._vocabulary = name
        self._decoder: Any = None

    @property
    def identity(self) -> Mapping[str, Any]:
        """The version of the package, of which the weights are a part, and the vocabulary."""
        return {
            "backend": "pocketsphinx",
            "pocketsphinx": metadata.version("pocketsphinx"),
            "vocabulary": self._vocabulary,
        }

    @property
    def reads_rows(self) -> bool:
        """False: a request holds everything."""
        return False

    def ignores(self, parameters: Parameters) -> Mapping[str, str]:
        """A limit that asks for a short answer: the answer is all words."""
        return ignored_limit(parameters, "it returns all words in the audio.")

    def known_settings(self) -> frozenset[str]:
        """Every name that exists: they are settings of other models, and change nothing here."""
        return EVERY_NAME

    def decodes(self, medium: Media) -> bool:
        """Every medium that it is shown."""
        return True

    def load(self) -> None:
        """Read the weights."""
        from pocketsphinx import Decoder

        words = VOCABULARIES[self._vocabulary]
        settings: dict[str, Any] = {"samprate": RATE, "loglevel": "FATAL"}
        self._decoder = Decoder(**settings, lm=None) if words else Decoder(**settings)
        if words:
            grammar = f"#JSGF V1.0; grammar words; public <words> = ( {' | '.join(words.split())} )+ ;"
            self._decoder.add_jsgf_string(self._vocabulary, grammar)
            self._decoder.activate_search(self._vocabulary)

    def respond(self, requests: list[Request]) -> list[Response]:
        """Write down the words in every request's audio."""
        if self._decoder is None:
            raise RuntimeError("load() comes before respond().")
        return [self._respond(request) for request in requests]

    def close(self) -> None:
        """Free the weights."""
        self._decoder = None

    def _respond(self, request: Request) -> Response:
        if request.parameters.kind != "generate":
            return Response(
                error=Error("permanent", f"The model 'pocketsphinx' cannot answer {request.parameters.kind!r}.")
            )
        recordings = [part for part in request.media() if isinstance(part, Audio)]
        if not recordings:
            return Response(error=Error("permanent", "The model 'pocketsphinx' was given no audio."))
        try:
            text = "\n\n".join(map(self._heard, recordings))
        except PolymeterError as error:
            return Response.failed(error, "data")
        output = Output(text=text, finish_reason="stop", usage=Usage(output_tokens=len(text.split())))
        return Response((output,))

    def _heard(self, audio: Audio) -> str:
        """The words of a recording; none if the recogniser finds none."""
        sounds = shown_audio(audio, AudioRule(rate=RATE, channels=1))
        return " ".join(
            filter(None, (self._words({"array": one.samples, "sampling_rate": one.rate}) for one in sounds))
        )

    def _words(self, sound: Mapping[str, Any]) -> str:
        import numpy as np

        waveform, _ = samples(sound, rate=RATE)  # a rule may have stated another rate
        whole = (waveform * _SCALE).round().clip(-_SCALE, _SCALE - 1).astype(np.int16)
        decoder = self._decoder
        decoder.start_utt()
        # As one piece, the recording is normalised by its own mean, not by what was heard before it: the order in which
        # recordings come changes no answer.
        decoder.process_raw(whole.tobytes(), full_utt=True)
        decoder.end_utt()
        hypothesis = decoder.hyp()
        return str(hypothesis.hypstr) if hypothesis is not None else ""
