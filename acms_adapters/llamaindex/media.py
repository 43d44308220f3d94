"""What images, sound and video of a node cost, without looking at what lies behind an address."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from llama_index.core.base.llms.types import AudioBlock, VideoBlock
from llama_index.core.schema import BaseNode, ImageNode, Node

from acms_adapters.protocols import TokenCounter

logger = logging.getLogger("acms_adapters")

IMAGE_TOKENS = 2125
AUDIO_TOKENS = 256
VIDEO_TOKENS = 2048
"""What the framework reckons for an image, and for sound and video of unknown length."""


def has_media(node: BaseNode) -> bool:
    """Whether a node has something to show or to hear."""
    if not isinstance(node, Node):
        return isinstance(node, ImageNode) and bool(_images(node))
    return any(_resource(node, kind) for kind in ("image", "audio", "video"))


def media_tokens(node: BaseNode) -> int:
    """Tokens of what a multimodal model gets beside the text, by the framework's own estimates."""
    sound, film = _resource(node, "audio"), _resource(node, "video")
    tokens = IMAGE_TOKENS * _images(node)
    if sound:
        tokens += _estimated(
            sound, lambda: AudioBlock(audio=sound.data, path=sound.path), AUDIO_TOKENS
        )
    if film:
        tokens += _estimated(
            film, lambda: VideoBlock(video=film.data, path=film.path), VIDEO_TOKENS
        )
    return tokens


def _images(node: BaseNode) -> int:
    if isinstance(node, ImageNode):
        return int(bool(node.image or node.image_path or node.image_url))
    return int(bool(_resource(node, "image")))


def _resource(node: BaseNode, kind: str) -> Any:
    resource = getattr(node, f"{kind}_resource", None)
    there = resource is not None and (resource.data or resource.path or resource.url)
    return resource if there else None


def _estimated(resource: Any, block: Callable[[], Any], unknown: int) -> int:
    if not (resource.data or resource.path):
        return unknown
    try:
        return int(block().estimate_tokens())
    except Exception as error:  # a file that is gone or of an unknown kind
        logger.debug("length of %r is not known: %r", resource.path or "data", error)
        return unknown


class MediaCounter:
    """Counts texts in which marks stand for media.

    Args:
        counter: Counts the text around them.
        prices: Tokens of each mark.
    """

    def __init__(self, counter: TokenCounter, prices: Mapping[str, int]) -> None:
        self.name = counter.name
        self.exact = counter.exact and not any(prices.values())
        self._counter = counter
        self._prices = prices

    def count(self, text: str) -> int:
        """Tokens of the text without its marks, and of what they stand for."""
        tokens = 0
        if self._prices and MARK in text:
            for mark, price in self._prices.items():
                if mark in text:
                    text, tokens = text.replace(mark, ""), tokens + price * text.count(mark)
        return tokens + self._counter.count(text)


MARK = "\ue0f0"
"""How every mark begins and ends: a character that no text has for a reason."""


def mark(place: int, nonce: str) -> str:
    """A text that stands for the media of the node at a place."""
    return f"{MARK}{nonce}:{place}{MARK}"
