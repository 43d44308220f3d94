"""A small data set in the BEIR layout, made anew for each test."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PASSAGES = [
    ("amber", "Amber", "Amber is fossil tree resin that is valued as a gemstone."),
    ("basalt", "Basalt", "Basalt is a dark volcanic rock formed from rapidly cooled lava."),
    ("chalk", "Chalk", "Chalk is a soft white limestone made of tiny marine shells."),
    ("dolomite", "Dolomite", "Dolomite is a carbonate mineral found in the Alps near Bolzano."),
]
QUESTIONS = [
    ("q-amber", "Which gemstone is fossil resin?", {"answer": "Amber"}),
    ("q-lava", "Which dark rock comes from cooled lava?", {"answers": ["Basalt", "basaltic rock"]}),
    ("q-white", "What are chalk and dolomite made of?", {}),
]
JUDGEMENTS = [
    ("q-amber", "amber", 1),
    ("q-lava", "basalt", 1),
    ("q-white", "chalk", 2),
    ("q-white", "dolomite", 1),
]

Write = Callable[..., Path]


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def write_set(tmp_path: Path) -> Write:
    def write(
        passages: Iterable[tuple[str, str, str]] = PASSAGES,
        questions: Iterable[tuple[str, str, Mapping[str, Any]]] = QUESTIONS,
        judgements: Iterable[tuple[str, str, int]] = JUDGEMENTS,
        *,
        links: Iterable[tuple[str, str, str]] = (),
        vectors: bool = False,
        name: str = "stones",
    ) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        passages, questions = list(passages), list(questions)
        write_lines(
            folder / "corpus.jsonl",
            [{"_id": one, "title": title, "text": text} for one, title, text in passages],
        )
        write_lines(
            folder / "queries.jsonl",
            [{"_id": one, "text": text, "metadata": more} for one, text, more in questions],
        )
        rows = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in judgements)]
        (folder / "qrels.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
        if links:
            write_lines(
                folder / "links.jsonl", [{"src": a, "dst": b, "type": t} for a, b, t in links]
            )
        if vectors:
            eye = np.eye(len(passages), 8, dtype=np.float16)
            np.savez(folder / "minilm.npz", D=eye, Q=eye[: len(questions)])
        return folder

    return write
