"""Images, sound and video cost what the framework reckons, where that is asked for."""

from __future__ import annotations

import base64
import io
import wave
from pathlib import Path

import pytest
from llama_index.core.base.llms.types import ImageBlock
from llama_index.core.schema import (
    BaseNode,
    Document,
    ImageNode,
    MediaResource,
    Node,
    NodeWithScore,
    TextNode,
)

from acms_adapters.llamaindex import ACMSNodePostprocessor
from acms_adapters.llamaindex.media import AUDIO_TOKENS, IMAGE_TOKENS, VIDEO_TOKENS, media_tokens

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
ADDRESS = MediaResource(url="https://example.org/thing")


def scored(*nodes: BaseNode) -> list[NodeWithScore]:
    return [NodeWithScore(node=node, score=1.0 - n / 100) for n, node in enumerate(nodes)]


def second_of_silence() -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8_000)
        sound.writeframes(b"\x80" * 80_000)
    return buffer.getvalue()


def test_an_image_costs_what_the_framework_reckons() -> None:
    assert ImageBlock(image=PIXEL).estimate_tokens() == IMAGE_TOKENS
    for node in (
        ImageNode(image=base64.b64encode(PIXEL).decode()),
        ImageNode(image_url="https://example.org/i.png"),
        ImageNode(image_path="/nowhere/i.png"),
        Node(image_resource=MediaResource(data=PIXEL)),
        Document(text="t", image_resource=ADDRESS),
    ):
        assert media_tokens(node) == IMAGE_TOKENS


def test_sound_costs_by_its_length_and_what_lies_behind_an_address_is_not_fetched() -> None:
    assert media_tokens(Node(audio_resource=MediaResource(data=second_of_silence()))) == 352
    assert media_tokens(Node(audio_resource=ADDRESS)) == AUDIO_TOKENS
    assert media_tokens(Node(video_resource=ADDRESS)) == VIDEO_TOKENS
    gone = MediaResource(path=Path("/nowhere/sound.wav"))
    assert media_tokens(Node(audio_resource=gone)) == AUDIO_TOKENS
    both = Node(audio_resource=ADDRESS, video_resource=ADDRESS)
    assert media_tokens(both) == AUDIO_TOKENS + VIDEO_TOKENS
    assert media_tokens(TextNode(text="words")) == 0


@pytest.mark.parametrize("counts", [True, False])
def test_media_count_when_asked_for(counts: bool) -> None:
    image, text = ImageNode(text="", image_url="https://example.org/i.png"), TextNode(text="words")
    postprocessor = ACMSNodePostprocessor(max_tokens=2_000, count_media=counts)
    kept = postprocessor.postprocess_nodes(scored(image, text))
    assert [node.node for node in kept] == ([text] if counts else [image, text])
    roomy = ACMSNodePostprocessor(max_tokens=IMAGE_TOKENS + 10, count_media=counts)
    payload = roomy.explain(scored(image, text))
    assert len(payload.fragments) == 2
    assert payload.rendered_tokens == (IMAGE_TOKENS + 2 if counts else 2)
    assert payload.fragments[0].content == ""


def test_a_shortened_node_keeps_its_image_and_its_price() -> None:
    text = " ".join(f"Sentence {n} is here." for n in range(200))
    node = Node(text_resource=MediaResource(text=text), image_resource=MediaResource(data=PIXEL))
    postprocessor = ACMSNodePostprocessor(max_tokens=IMAGE_TOKENS + 100, count_media=True)
    (kept,) = postprocessor.postprocess_nodes(scored(node))
    assert kept.node.image_resource == node.image_resource
    payload = postprocessor.explain(scored(node))
    assert IMAGE_TOKENS + 60 <= payload.rendered_tokens <= IMAGE_TOKENS + 100
    assert payload.fragments[0].content == kept.node.get_content()


def test_a_node_without_text_and_without_media_is_left_out_as_empty() -> None:
    payload = ACMSNodePostprocessor(max_tokens=100).explain(scored(TextNode(text=" \n")))
    assert [entry.reason.value for entry in payload.ledger.entries] == ["empty"]
