"""Images without models of images: an endpoint draws an answer's digest, and scorers read digests of images.

In EvalScope itself a model of images is a pipeline with weights; here it asks the endpoint.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import urllib.request
from collections.abc import Mapping, Sequence
from email import message_from_bytes
from typing import Any

SCORERS = ("CLIPScore", "FGA_BLIP2Score", "HPSv2.1Score", "PickScore", "VQAScore")
"""The scorers that adapters name, whose weights are not here."""
_SIZE = (8, 8)
_OF_PARTS = "FGA_BLIP2Score"


def drawn(text: str) -> bytes:
    """A PNG image in the colour of a text's digest."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", _SIZE, tuple(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:3])).save(buffer, "PNG")
    return buffer.getvalue()


class DigestScorer:
    """A scorer of images by the digest of their pixels and the prompt: any change of either changes the value."""

    def __init__(self, **_: Any) -> None:
        self.parts: Sequence[str] = ()

    def __call__(self, image: Any, prompt: Any) -> list[Any]:
        from PIL import Image

        with Image.open(image) as opened:
            pixels = opened.convert("RGB").tobytes()
        text = prompt["prompt"] if isinstance(prompt, Mapping) else prompt
        digest = hashlib.sha256(pixels + str(text).encode("utf-8", "replace")).digest()
        values = [byte / 255 for byte in digest]
        return [dict(zip(self.parts, values, strict=False)) if self.parts else values[0]]


class ScorerOfParts(DigestScorer):
    """One whose value has parts."""

    def __init__(self, **_: Any) -> None:
        self.parts = ("overall_score", "the colour", "the river")


def score_by_digests() -> None:
    """Put scorers that need no weights in the places of those that do, in whichever tool runs this."""
    from evalscope.api.registry import METRIC_REGISTRY, get_metric

    get_metric("PSNR")  # what a tool registers only when it is asked for would otherwise replace them
    for name in SCORERS:
        METRIC_REGISTRY[name] = ScorerOfParts if name == _OF_PARTS else DigestScorer


def draw_by_endpoint() -> None:
    """Let EvalScope's own model of images ask the endpoint for them."""
    from evalscope.api.messages import ContentImage
    from evalscope.api.model import ChatCompletionChoice, ModelAPI, ModelOutput
    from evalscope.api.registry import MODEL_APIS

    class EndpointOfImages(ModelAPI):
        def __init__(self, model_name: str, base_url: str | None = None, api_key: str | None = None, **more: Any):
            super().__init__(model_name=model_name, base_url=base_url, api_key=api_key, **more)

        def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> Any:
            pictures = [one.image for one in input[-1].content if one.type == "image"] if _has_parts(input) else []
            operation = "edits" if pictures else "generations"
            body = json.dumps({"model": self.model_name, "prompt": input[-1].text, "image": pictures}).encode()
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.api_key}"}
            request = urllib.request.Request(f"{self.base_url}/images/{operation}", body, headers)
            with urllib.request.urlopen(request) as response:
                encoded = json.load(response)["data"][0]["b64_json"]
            choice = ChatCompletionChoice.from_content([ContentImage(image=encoded)])
            return ModelOutput(model=self.model_name, choices=[choice])

    MODEL_APIS["text2image"] = MODEL_APIS["image_editing"] = EndpointOfImages


def _has_parts(messages: Any) -> bool:
    return not isinstance(messages[-1].content, str)


def read_question(content_type: str, body: bytes) -> dict[str, Any]:
    """The question of a request for an image, as that of a chat; a form's files become data."""
    if content_type.startswith("application/json"):
        asked = json.loads(body)
        pictures = list(asked.get("image") or [])
    else:
        form = message_from_bytes(f"Content-Type: {content_type}\r\n\r\n".encode() + body)
        asked, pictures = {}, []
        for part in form.get_payload():
            name, value = part.get_param("name", header="content-disposition"), part.get_payload(decode=True)
            if part.get_filename():
                pictures.append(f"data:image/png;base64,{base64.b64encode(value).decode()}")
            else:
                asked[name] = value.decode()
    parts = [{"type": "image_url", "image_url": {"url": one}} for one in pictures]
    content = [{"type": "text", "text": asked["prompt"]}, *parts] if parts else asked["prompt"]
    return {"model": asked["model"], "messages": [{"role": "user", "content": content}]}


def as_answer(text: str) -> dict[str, Any]:
    """The endpoint's answer with the image of a text."""
    return {"created": 0, "data": [{"b64_json": base64.b64encode(drawn(text)).decode()}]}
