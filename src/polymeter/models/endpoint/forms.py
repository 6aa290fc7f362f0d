"""Forms with files (``multipart/form-data``), as endpoints take images in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from polymeter.core.sources import digest


@dataclass(frozen=True, slots=True)
class File:
    """A file of a form.

    Attributes:
        key: Name of the field.
        name: Name of the file.
        mime: MIME type.
        data: Its bytes.
    """

    key: str
    name: str
    mime: str
    data: bytes = field(repr=False)


def form(fields: Mapping[str, Any], files: Sequence[File]) -> tuple[bytes, str]:
    """A form as bytes, and its content type. Equal forms give equal bytes.

    Args:
        fields: Texts are sent as they are, other values as JSON.
        files: Sent as they are, in order.
    """
    boundary = f"polymeter-{digest(b''.join(digest(file.data).encode() for file in files))}"
    pieces: list[bytes] = []
    for name, value in fields.items():
        text = value if isinstance(value, str) else json.dumps(value)
        pieces += [_head(boundary, name), b"\r\n\r\n", text.encode("utf-8", "backslashreplace"), b"\r\n"]
    for file in files:
        pieces += [_head(boundary, file.key), f'; filename="{file.name}"\r\nContent-Type: {file.mime}'.encode()]
        pieces += [b"\r\n\r\n", file.data, b"\r\n"]
    pieces.append(f"--{boundary}--\r\n".encode())
    return b"".join(pieces), f"multipart/form-data; boundary={boundary}"


def _head(boundary: str, name: str) -> bytes:
    quoted = name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
    return f'--{boundary}\r\nContent-Disposition: form-data; name="{quoted}"'.encode()
