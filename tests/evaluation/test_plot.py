"""Plots of results."""

from __future__ import annotations

import sys
from xml.etree import ElementTree

import pytest

from acms_adapters.errors import MissingExtraError
from acms_adapters.evaluation import evaluate
from acms_adapters.evaluation.plot import plot


@pytest.fixture
def result(write_set):
    return evaluate(write_set(vectors=True), budgets=(20, 60))


def test_a_png_and_an_svg_are_drawn(result, tmp_path) -> None:
    plot([result], tmp_path / "recall.png")
    assert (tmp_path / "recall.png").read_bytes().startswith(b"\x89PNG")
    plot([result], tmp_path / "recall.svg", measures=("read", "located", "answered"))
    root = ElementTree.parse(tmp_path / "recall.svg").getroot()
    panels = [group for group in root.iter() if (group.get("id") or "").startswith("axes_")]
    assert len(panels) == 3


def test_the_same_results_give_the_same_svg(result, tmp_path) -> None:
    for name in ("one.svg", "two.svg"):
        plot([result], tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_another_kind_of_file_is_refused(result, tmp_path) -> None:
    with pytest.raises(ValueError, match=r"\.png or \.svg, not .*recall\.gif"):
        plot([result], tmp_path / "recall.gif")


def test_a_measure_that_nothing_knows_is_left_out_and_none_at_all_is_refused(
    write_set, tmp_path
) -> None:
    folder = write_set(questions=[("q", "resin", {})], judgements=[("q", "amber", 1)])
    result = evaluate(folder, budgets=(60,), embedder=None)
    plot([result], tmp_path / "recall.svg", measures=("read", "answered"))
    with pytest.raises(ValueError, match="nothing to plot"):
        plot([result], tmp_path / "recall.svg", measures=("answered",))


def test_without_matplotlib_the_extra_is_named(
    result, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [*(n for n in sys.modules if n.startswith("matplotlib.")), "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"acms-adapters\[eval\]"):
        plot([result], tmp_path / "recall.png")
