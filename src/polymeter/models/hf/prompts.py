"""Text and media of a request, in the form that a processor accepts.

Text in a request stays text: if it contains a token that stands for a medium (``<image>``), a space is inserted after
the token's first character, so that it cannot take the place of an image.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from polymeter.core.acting.results import media_after
from polymeter.core.acting.tools import Tool
from polymeter.core.content import Audio, Image, Modality, Part, Text, Video
from polymeter.core.errors import ModelError, PlanError, PolymeterError, boundary, count
from polymeter.core.request import Generate, Message, Request, Tags
from polymeter.models.hf.load import LoadedCheckpoint
from polymeter.models.hf.media import VideoFrames, clip_of, image_of, sounds_of, writes_times
from polymeter.models.hf.videos import handling_of
from polymeter.models.video_parts import frame_texts, silent

_PLACEHOLDERS: dict[Modality, str] = {"image": "image_token", "video": "video_token", "audio": "audio_token"}
_GUARDED = (
    *_PLACEHOLDERS.values(),
    "boi_token",
    "eoi_token",
    "boa_token",
    "eoa_token",
    "audio_bos_token",
    "audio_eos_token",
    "vision_start_token",
    "vision_end_token",
    "vision_bos_token",
    "vision_eos_token",
    "fake_image_token",
    "global_image_tag",
    "image_break_token",
    "image_end_token",
    "start_image_token",
    "end_image_token",
)
_DEAF_AFTER_WINDOW = ("whisper", "qwen2_audio", "qwen2_5_omni", "qwen2_5_omni_thinker")
_PROBE = "polymeter probe"
_TRACK = "track"
"""The entry of a sound that belongs to the video before it."""
_BEHIND = (
    "Its sound stands behind its frames, not between them: another video of the request has no sound, or other times."
)
Conversation = list[tuple[str, list[tuple[Modality, str]]]]


@dataclass(slots=True)
class ReadPrompt:
    """One request, read and decoded.

    Attributes:
        text: The chat template rendered, with one token per medium.
        images: RGB, in the order of their tokens.
        clips: Videos, likewise.
        sounds: Samples of shape ``(n,)``, likewise.
        tracks: The numbers of sounds that the processor puts between the frames of a video, each with the number of the
            video. They have no tokens in the text.
        is_raw: Whether it is read as a base model reads it: no template, and the tokenizer's own special tokens.
        reasoning_tags: The tags around reasoning that its task names; ``None``: it names none.
        cut: As of an ``Output``.
    """

    text: str = ""
    images: list[Any] = field(default_factory=list)
    clips: list[VideoFrames] = field(default_factory=list)
    sounds: list[Any] = field(default_factory=list)
    tracks: dict[int, int] = field(default_factory=dict)
    is_raw: bool = False
    reasoning_tags: Tags | None = None
    cut: dict[str, str] = field(default_factory=dict)


class Prompter:
    """Reads requests for one loaded checkpoint.

    Args:
        loaded: The checkpoint.
        drops_system: Whether a conversation that the chat template refuses is rendered once more without its system
            messages.

    Attributes:
        adds_special: Whether the tokenizer has to add special tokens to the text: the template leaves them out, or
            there is none.
        handling: How its processor handles videos.

    Raises:
        PlanError: if the chat template cannot be rendered.
    """

    def __init__(self, loaded: LoadedCheckpoint, *, drops_system: bool = False) -> None:
        self._loaded = loaded
        self._drops_system = drops_system
        self._templater = loaded.processor if getattr(loaded.processor, "chat_template", None) else loaded.tokenizer
        written = {modality: self._named(name) for modality, name in _PLACEHOLDERS.items()}
        # If the two differ, the processor replaces its own token and not the tokenizer's.
        self._tokens: dict[Modality, str] = {modality: tokens[0] for modality, tokens in written.items() if tokens}
        # Longer tokens first: a token that contains another has to be broken before its part.
        self._guarded = sorted({token for name in _GUARDED for token in self._named(name)}, key=len, reverse=True)
        self._modalities = dict(loaded.kind.modalities)
        self.handling = handling_of(loaded.processor)
        self._plain_roles: set[str] = set()
        self._known_roles: set[str] = set()
        self.adds_special = True
        if loaded.is_chat:
            self._probe()

    def read(self, request: Request, *, is_plain: bool = False) -> ReadPrompt:
        """A request's text and media, decoded.

        Args:
            request: The request.
            is_plain: Do not use the chat template.

        Raises:
            DataError: if a medium cannot be read.
            ModelError: if it holds media that this model does not accept, or the template refuses the conversation.
        """
        prompt = ReadPrompt()
        conversation: Conversation = []
        messages = media_after(request.messages)
        for message in messages:
            entries: list[tuple[Modality, str]] = []
            for part in message.parts:
                entries.extend(self._take(part, prompt))
            conversation.append((message.role, entries))
        if prompt.tracks:
            conversation = self._with_tracks(conversation, prompt, request)
        if self._loaded.kind.is_speech:
            if len(prompt.sounds) != 1:
                raise ModelError(f"A model that transcribes speech accepts one audio, not {len(prompt.sounds)}.")
            return prompt
        is_chat = self._loaded.is_chat and not is_plain
        tools = _offered(request)
        if tools and not is_chat:
            raise ModelError("Tools need the chat template, and this request is read without it.")
        prompt.text = self._render(conversation, messages, tools) if is_chat else self._joined(conversation)
        self._check(prompt)
        return prompt

    def _take(self, part: Part, prompt: ReadPrompt) -> list[tuple[Modality, str]]:
        """Add a part's medium to the prompt, and return the entries that stand for it in the conversation."""
        if isinstance(part, Text):
            return [("text", self._guard(part.text))]
        if isinstance(part, Image):
            self._require("image")
            prompt.images.append(image_of(part))
            return [("image", "")]
        if isinstance(part, Audio):
            self._require("audio")
            sounds = sounds_of(part, self.rate)
            prompt.sounds.extend(self._heard(sound) for sound in sounds)
            return [("audio", "")] * len(sounds)
        return self._take_video(part, prompt)

    def _take_video(self, part: Video, prompt: ReadPrompt) -> list[tuple[Modality, str]]:
        settings = self._loaded.settings
        part = part if self._modalities["audio"] else silent(part)
        has_track = part.rule is not None and part.rule.audio == "track"
        is_video = settings.shows_videos_whole(accepts=self._modalities["video"])
        self._require("video" if is_video else "image")
        clip = clip_of(part, settings, self.rate if has_track else None)
        kind: Modality = "video" if is_video else "image"
        n_entries = 1 if is_video else len(clip.frames)
        if is_video:
            prompt.clips.append(clip)
        else:
            prompt.images.extend(clip.frames)
        texts = frame_texts(clip, part, is_whole=is_video, has_times=not (is_video and self._writes_times))
        entries: list[tuple[Modality, str]] = []
        for place in range(n_entries):
            entries.extend(("text", self._guard(text)) for text in texts.get(place, ()))
            entries.append((kind, ""))
        entries.extend(("text", self._guard(text)) for text in texts.get(n_entries, ()))
        if clip.sound is not None:  # behind its own frames, so that no video gets the sound of another
            if is_video and self.handling.interleaves:
                prompt.tracks[len(prompt.sounds)] = len(prompt.clips) - 1
            prompt.sounds.append(self._heard(clip.sound.samples))
            entries.append(("audio", _TRACK))
        return entries

    def _with_tracks(self, conversation: Conversation, prompt: ReadPrompt, request: Request) -> Conversation:
        """A conversation without the places of the sounds that the processor puts between frames. If it cannot, they
        stay behind their videos, and the records of these say so.
        """
        if self.handling.can_interleave(prompt.clips):
            kept = [
                (role, [entry for entry in entries if entry != ("audio", _TRACK)]) for role, entries in conversation
            ]
            return kept
        prompt.tracks.clear()
        for part in request.media():
            if isinstance(part, Video) and part.sent is not None and "sound" in part.sent.sent:
                part.record_sent(replace(part.sent, notes=(*part.sent.notes, _BEHIND)))
        return conversation

    @cached_property
    def _writes_times(self) -> bool:
        return writes_times(type(self._loaded.processor))

    def _heard(self, sound: Any) -> Any:
        """Audio, if it fits into the model's window: some processors silently cut off the rest."""
        loaded = self._loaded
        extractor = getattr(loaded.processor, "feature_extractor", None)
        most = getattr(extractor, "n_samples", 0) if loaded.kind.family in _DEAF_AFTER_WINDOW else 0
        if most and len(sound) > most and not loaded.settings.cut_sounds:
            raise ModelError(
                f"The audio lasts {len(sound) / self.rate:.1f} s. The model hears only {most / self.rate:g} s.",
                hint="To cut the audio to its beginning, set cut_sounds=true.",
            )
        return sound

    def _require(self, modality: Modality) -> None:
        if not self._modalities[modality]:
            takes = ", ".join(name for name, is_taken in self._modalities.items() if is_taken)
            raise ModelError(
                f"The model {self._loaded.settings.name!r} does not accept {modality}. It accepts {takes}."
            )

    @property
    def rate(self) -> int:
        """Sampling rate of the model's audio in Hz.

        Raises:
            ModelError: if the processor does not say.
        """
        processor = self._loaded.processor
        for name in ("feature_extractor", "audio_processor"):
            rate = getattr(getattr(processor, name, None), "sampling_rate", None)
            if rate:
                return int(rate)
        raise ModelError(f"The processor of {self._loaded.settings.name!r} does not state its sampling rate.")

    def _render(self, conversation: Conversation, said: Sequence[Message] = (), tools: Sequence[Tool] = ()) -> str:
        """The rendered chat template, open for the answer: after the generation prompt, or after the beginning of the
        answer in the last message.

        Args:
            conversation: The roles and entries of its messages.
            said: The messages, which hold the calls of tools and the ids of their results.
            tools: The tools that the template shows.
        """
        from jinja2 import TemplateError

        if any(role == "tool" for role, _ in conversation):
            self._probe_results()
        messages = [{"role": role, "content": self._content(role, entries)} for role, entries in conversation]
        names = {call.id: call.sent_name for message in said for call in message.calls}
        for message, own in zip(messages, said, strict=False):
            message.update(self._guarded_in(_beside(own, names)))
        with boundary(ModelError, "The chat template", hint="Set another one with chat_template=FILE."):
            try:
                return self._templated(messages, tools)
            except TemplateError:
                others = [message for message in messages if message["role"] != "system"]
                if not self._drops_system or len(others) == len(messages):
                    raise
                return self._templated(others, tools)

    def _templated(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Tool]) -> str:
        is_begun = bool(messages) and messages[-1]["role"] == "assistant" and "tool_calls" not in messages[-1]
        offered = [{"type": "function", "function": self._guarded_in(tool.as_function())} for tool in tools]
        text: str = self._templater.apply_chat_template(
            messages,
            tokenize=False,
            add_generation_prompt=not is_begun,
            continue_final_message=is_begun,
            **({"tools": offered} if offered else {}),
            **self._loaded.settings.chat_template_args,
        )
        return text

    def _content(self, role: str, entries: Sequence[tuple[Modality, str]]) -> Any:
        if role in self._plain_roles:
            return self._flat(entries)
        return [{"type": "text", "text": text} if kind == "text" else {"type": kind} for kind, text in entries]

    def _flat(self, entries: Sequence[tuple[Modality, str]]) -> str:
        return "".join(text if kind == "text" else self._tokens.get(kind, "") for kind, text in entries)

    def _joined(self, conversation: Conversation) -> str:
        return "\n\n".join(text for _, entries in conversation if (text := self._flat(entries)))

    def _check(self, prompt: ReadPrompt) -> None:
        """Refuse a prompt whose text has not one token per medium: the network would see the media in wrong places; and
        videos that the processor does not accept together.
        """
        self.handling.check(prompt.clips, has_images=bool(prompt.images))
        shown: dict[Modality, int] = {
            "image": len(prompt.images),
            "video": len(prompt.clips),
            "audio": len(prompt.sounds) - len(prompt.tracks),
        }
        for modality, token in self._tokens.items():
            n_places = prompt.text.count(token)
            if n_places != shown[modality]:
                raise ModelError(
                    f"The chat template has {n_places} places ({token}) for {count(shown[modality], modality)}.",
                    hint="Set another one with chat_template=FILE.",
                )

    def _guard(self, text: str) -> str:
        for token in self._guarded:
            if token in text:
                text = text.replace(token, f"{token[0]} {token[1:]}")
        return text

    def _guarded_in(self, value: Any) -> Any:
        """Plain data whose texts are guarded."""
        if isinstance(value, str):
            return self._guard(value)
        if isinstance(value, Mapping):
            return {self._guarded_in(key): self._guarded_in(item) for key, item in value.items()}
        return [self._guarded_in(item) for item in value] if isinstance(value, (list, tuple)) else value

    def _named(self, name: str) -> list[str]:
        """The special tokens that the processor and its tokenizer have under a name."""
        if self._loaded.processor is None:
            return []
        holders = (self._loaded.processor, self._loaded.tokenizer)
        return [str(token) for holder in holders if (token := getattr(holder, name, None))]

    def _probe(self) -> None:
        """Find out in which form the template accepts content, and whether it writes the first special token itself."""
        entries: list[tuple[Modality, str]] = [("text", _PROBE)]
        if "image" in self._tokens and self._modalities["image"]:
            entries.insert(0, ("image", ""))
        refusal: PolymeterError | None = None
        for roles in ((), ("system", "user", "assistant")):
            self._plain_roles = set(roles)
            try:
                text = self._render([("user", entries)])
            except ModelError as error:
                refusal = error
                continue
            token = self._tokens.get("image", "")
            if _is_shown(text) and (not token or text.count(token) == len(entries) - 1):
                break
        else:
            raise PlanError(
                "The chat template shows neither text nor image of a plain question.",
                where="--model",
                hint=str(refusal or "Set another one with chat_template=FILE."),
            )
        for role in {"system", "assistant"} - self._plain_roles:
            self._probe_role(role)
        bos = self._loaded.tokenizer.bos_token
        self.adds_special = self._loaded.processor is not None and not (bos and text.startswith(bos))

    def _probe_results(self) -> None:
        """Find out, once, in which form the template accepts the results of tools."""
        if "tool" in self._known_roles:
            return
        self._known_roles.add("tool")
        self._probe_role("tool")

    def _probe_role(self, role: str) -> None:
        """Some templates accept parts from users but print those of another role as data: that role gets plain text."""
        user: tuple[str, list[tuple[Modality, str]]] = ("user", [("text", "?")])
        before = [user] if role == "assistant" else []
        for is_plain in (False, True):
            if is_plain:
                self._plain_roles.add(role)
            try:
                text = self._render([*before, (role, [("text", _PROBE)]), user])
            except ModelError:
                continue
            if _is_shown(text):
                return
        self._plain_roles.discard(role)  # it refuses or drops the role in either form


def _offered(request: Request) -> Sequence[Tool]:
    """The tools that the template shows: none if the model is to call none, since nothing else keeps it from that."""
    parameters = request.parameters
    has_tools = isinstance(parameters, Generate) and parameters.tool_choice != "none"
    return parameters.tools if has_tools and isinstance(parameters, Generate) else ()


def _beside(message: Message, names: Mapping[str, str]) -> dict[str, Any]:
    """The calls of a turn, or the call that a result belongs to, as chat templates read them."""
    if message.role == "tool":
        return {"tool_call_id": message.call_id, "name": names.get(message.call_id, "unnamed")}
    if not message.calls:
        return {}
    functions = [{"name": call.sent_name, "arguments": dict(call.sent_arguments)} for call in message.calls]
    calls = zip(message.calls, functions, strict=True)
    return {"tool_calls": [{"id": call.id, "type": "function", "function": function} for call, function in calls]}


def _is_shown(text: str) -> bool:
    """Return whether a template has put the probe's text into the prompt, and not a printed data structure."""
    return _PROBE in text and "'type'" not in text and '"type"' not in text
