"""From bytes to text, or to the reason why not."""

from __future__ import annotations

import codecs
import io
import tokenize

from acms_adapters.models.base import repair_text

_HEAD = 8192
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class UnreadableTextError(ValueError):
    """Bytes that are no text; its message is the reason."""


def decode(data: bytes, *, python: bool = False) -> str:
    """Text of a file, line ends as they are, without a byte order mark.

    Args:
        python: Whether an encoding may be declared in the first two lines (PEP 263).

    Raises:
        UnreadableTextError: It is binary, or not in the encoding it should be in.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decode(data[len(mark) :], encoding)
    if b"\0" in data[:_HEAD]:
        raise UnreadableTextError("binary")
    return _decode(data, _declared_encoding(data) if python else "utf-8")


def _declared_encoding(data: bytes) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError:  # an encoding nobody knows, or bytes that are no UTF-8
        return "utf-8"
    return encoding


def _decode(data: bytes, encoding: str) -> str:
    try:
        text = data.decode(encoding)
    except (UnicodeDecodeError, LookupError, ValueError) as error:
        place = f" at byte {error.start}" if isinstance(error, UnicodeDecodeError) else ""
        raise UnreadableTextError(f"broken encoding: no valid {encoding}{place}") from error
    if "\0" in text:
        raise UnreadableTextError("binary")
    return repair_text(text)
