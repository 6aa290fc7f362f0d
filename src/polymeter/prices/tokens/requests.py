"""The tokens of a whole request: its messages, media and tools."""

from __future__ import annotations

import json
from collections.abc import Sequence

from polymeter.core.content import Audio, Image, Part, Text, Video
from polymeter.core.media.showing import VideoRule
from polymeter.core.request import Generate, Loglikelihood, Message, OwnPrompt, Request
from polymeter.prices.tokens.counts import TokenCount
from polymeter.prices.tokens.rules import TokenRule
from polymeter.prices.tokens.seen import seen_audio, seen_image, seen_video
from polymeter.prices.tokens.texts import around

_UNSEEN = (1024, 1024)
"""The size that is expected of an image whose header cannot be read here."""
_LARGEST_UNSEEN = (4096, 4096)
_UNSEEN_S, _LONGEST_UNSEEN_S = 30.0, 3600.0
_WHOLE = VideoRule(fps=1.0)
_TOOLS = TokenCount(0, 0, 500, 1024)
"""The tokens around the description of tools: Anthropic states 290 to 804, by model."""
_IN_PROMPTS = ("tools", "functions", "response_format", "guided_json")
"""Settings whose text a model reads."""


def request_tokens(request: Request | OwnPrompt, rule: TokenRule) -> TokenCount:
    """The tokens of a request's input before it is sent. Nothing is decoded; media that cannot be read here count by
    what is usual, with a wide range.

    Args:
        request: The request. A model's own prompt is unknown and counts nothing.
        rule: The rule of the model that is asked.
    """
    if isinstance(request, OwnPrompt):
        return TokenCount()
    prompt = _messages(request.messages, rule) + _settings(request, rule)
    parameters = request.parameters
    if not isinstance(parameters, Loglikelihood):
        return prompt
    n = len(parameters.continuations) if rule.scores_apart else min(len(parameters.continuations), 1)
    texts = sum((rule.text.of(text) for text in parameters.continuations), TokenCount())
    if parameters.is_rolling:
        return texts
    whole = prompt.times(n) + texts
    # An endpoint that scores first tokens is asked once.
    return TokenCount(whole.expected, min(prompt.low, whole.low), whole.high, whole.upper, whole.assumed)


def part_tokens(part: Part, rule: TokenRule) -> TokenCount:
    """The tokens of one piece of content."""
    if isinstance(part, Text):
        return rule.text.of(part.text)
    if isinstance(part, Image):
        return _image(part, rule)
    if isinstance(part, Audio):
        return _seconds(seen_audio(part), rule)
    return _video(part, rule)


def _messages(messages: Sequence[Message], rule: TokenRule) -> TokenCount:
    total = around(len(messages), rule.text)
    for message in messages:
        for part in message.parts:
            total += part_tokens(part, rule)
        if message.calls:
            # An API is sent its own form of a turn back where it gave one, with signed reasoning.
            written = message.carried or [[call.sent_name, call.sent_arguments] for call in message.calls]
            total += rule.text.of(json.dumps(written, default=str))
    return total


def _settings(request: Request, rule: TokenRule) -> TokenCount:
    """The settings that the model reads as text."""
    if not isinstance(request.parameters, Generate):
        return TokenCount()
    read = {name: value for name, value in request.parameters.extra.items() if name in _IN_PROMPTS and value}
    if request.parameters.tools:
        read["tools"] = [tool.as_function() for tool in request.parameters.tools]
    return rule.text.of(json.dumps(read, default=str)) + _TOOLS if read else TokenCount()


def _image(image: Image, rule: TokenRule) -> TokenCount:
    item = image.given.item if image.given is not None else None
    detail = str((item or {}).get("detail") or "")
    size = seen_image(image, rule.images)
    if size is not None:
        return rule.image_of(size, detail)
    usual, largest = rule.image_of(_UNSEEN, detail), rule.image_of(_LARGEST_UNSEEN, detail)
    unseen = TokenCount(usual.expected, usual.low / 4, largest.high, largest.upper, usual.assumed)
    return unseen.but_assumed("image")


def _video(video: Video, rule: TokenRule) -> TokenCount:
    seen = seen_video(video, rule.frames or _WHOLE, rule.images)
    subtitles = video.subtitles_shown
    beside = rule.text.of(subtitles) if isinstance(subtitles, str) else TokenCount()
    if rule.frames is None:
        seconds = None if seen is None else seen.seconds
        if seconds is None:
            usual, longest = rule.video.of(_UNSEEN_S, "video"), rule.video.of(_LONGEST_UNSEEN_S, "video")
            unseen = TokenCount(usual.expected, usual.low / 10, longest.high, longest.upper).but_assumed("video")
            return unseen + beside
        return rule.video.of(seconds, "video") + beside
    if seen is None:
        n, size = rule.frames.frames or 1, _UNSEEN
        return (rule.image_of(size).times(n)).but_assumed("video") + beside
    frames = rule.image_of((seen.width, seen.height)).times(seen.n_frames)
    times = rule.text.of("at 00:00.0 s: ").times(seen.n_frames)
    has_sound = seen.has_sound and video.rule is not None and video.rule.audio == "track"
    sound = _seconds(seen.seconds, rule) if has_sound else TokenCount()
    return frames + TokenCount(0, 0, times.high, times.upper) + sound + beside


def _seconds(seconds: float | None, rule: TokenRule) -> TokenCount:
    if seconds is not None:
        return rule.audio.of(seconds, "audio")
    usual, longest = rule.audio.of(_UNSEEN_S, "audio"), rule.audio.of(_LONGEST_UNSEEN_S, "audio")
    return TokenCount(usual.expected, usual.low / 10, longest.high, longest.upper).but_assumed("audio")
