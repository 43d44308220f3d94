"""Data sets in the BEIR layout: passages, questions, and which passages answer which question."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acms_adapters.models import Edge

CORPUS, QUESTIONS, JUDGEMENTS = "corpus.jsonl", "queries.jsonl", "qrels.tsv"
LINKS, VECTORS = "links.jsonl", "minilm.npz"

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One text that may be read.

    Attributes:
        id: Names it in judgements and links.
        title: May be empty.
        metadata: As it stands in the file.
    """

    id: str
    title: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def whole(self) -> str:
        """What a reader sees of it: title and text, one below the other."""
        return f"{self.title}\n{self.text}" if self.title.strip() else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question with the passages that hold its evidence.

    Attributes:
        evidence: Passage to grade, above 0; never empty.
        answers: Texts of which any is the answer; empty where none is given.
        history: Earlier turns of the conversation, oldest first, as role and text.
    """

    id: str
    text: str
    evidence: Mapping[str, int]
    answers: tuple[str, ...] = ()
    history: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Everything that an evaluation needs.

    Attributes:
        name: Name of its folder.
        fingerprint: SHA-256 over its files; equal means the same data.
        questions: Those with evidence, in the order of the file.
        unjudged: How many questions have none and are left out.
        links: Edges between passages.
        passage_vectors: One row for each passage, or None.
        question_vectors: One row for each question that is kept, or None.
    """

    name: str
    fingerprint: str
    passages: tuple[Passage, ...]
    questions: tuple[Question, ...]
    unjudged: int = 0
    links: tuple[Edge, ...] = ()
    passage_vectors: Matrix | None = None
    question_vectors: Matrix | None = None


def read_dataset(folder: str | Path) -> Dataset:
    """Read a folder with `corpus.jsonl`, `queries.jsonl`, `qrels.tsv`.

    `links.jsonl` and `minilm.npz` (rows `D` for passages and `Q` for questions, in the order of
    their files) may be there.

    Raises:
        FileNotFoundError: The folder or one of the three files is not there.
        ValueError: A file says something that cannot be; the message names file and line.
    """
    folder = Path(folder)
    for name in (CORPUS, QUESTIONS, JUDGEMENTS):
        if not (folder / name).is_file():
            raise FileNotFoundError(f"a data set needs {name}, and {str(folder)!r} has none")
    passages = tuple(_passages(folder / CORPUS))
    known = {passage.id for passage in passages}
    asked = list(_objects(folder / QUESTIONS, "_id", "text"))
    evidence = _judgements(folder / JUDGEMENTS, known, _unique(folder / QUESTIONS, asked))
    kept = [at for at, (_, row) in enumerate(asked) if evidence[row["_id"]]]
    of_passages, of_questions = _vectors(folder / VECTORS, len(passages), len(asked))
    return Dataset(
        name=folder.resolve().name,
        fingerprint=_fingerprint(folder),
        passages=passages,
        questions=tuple(_question(asked[at][1], evidence) for at in kept),
        unjudged=len(asked) - len(kept),
        links=tuple(_links(folder / LINKS, known)),
        passage_vectors=of_passages,
        question_vectors=None if of_questions is None else of_questions[kept],
    )


def _passages(path: Path) -> Iterator[Passage]:
    rows = list(_objects(path, "_id", "text"))
    _unique(path, rows)
    if not rows:
        raise ValueError(f"{path}: there is no passage in it")
    for number, row in rows:
        title = row.get("title") or ""
        if not isinstance(title, str):
            raise ValueError(f"{path}:{number}: the title must be a text, not {title!r}")
        yield Passage(id=row["_id"], title=title, text=row["text"], metadata=_metadata(row))


def _question(row: Mapping[str, Any], evidence: Mapping[str, Mapping[str, int]]) -> Question:
    metadata = _metadata(row)
    answers = metadata.get("answers", metadata.get("answer")) or ()
    turns = metadata.get("history") or ()
    return Question(
        id=row["_id"],
        text=row["text"],
        evidence=evidence[row["_id"]],
        answers=(answers,) if isinstance(answers, str) else tuple(map(str, answers)),
        history=tuple((str(turn.get("role", "")), str(turn.get("text", ""))) for turn in turns),
    )


def _metadata(row: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = row.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


def _objects(path: Path, *needed: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line number and object of each line that is not empty, with texts under the needed keys."""
    for number, line in _lines(path):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{path}:{number}: no JSON: {error}") from error
        missing = [
            key for key in needed if not isinstance(row, dict) or not isinstance(row.get(key), str)
        ]
        if missing:
            raise ValueError(
                f"{path}:{number}: needs a JSON object with texts under {', '.join(needed)}; "
                f"{missing[0]!r} is missing or no text"
            )
        yield number, row


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line.rstrip("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: is no UTF-8: {error}") from error


def _unique(path: Path, rows: list[tuple[int, dict[str, Any]]]) -> set[str]:
    first: dict[str, int] = {}
    for number, row in rows:
        before = first.setdefault(row["_id"], number)
        if before != number:
            raise ValueError(f"{path}:{number}: _id {row['_id']!r} stands in line {before} already")
    return set(first)


def _judgements(path: Path, passages: set[str], questions: set[str]) -> dict[str, dict[str, int]]:
    """Evidence by question: passages with a grade above 0. A header line may be there."""
    found: dict[str, dict[str, int]] = {question: {} for question in questions}
    for number, line in _lines(path):
        cells = line.split("\t")
        if len(cells) != 3:
            raise ValueError(
                f"{path}:{number}: needs question, passage and grade between tabs, has "
                f"{len(cells)} cells"
            )
        question, passage, grade = cells
        try:
            value = int(grade)
        except ValueError:
            if number == 1:  # names of the columns
                continue
            raise ValueError(f"{path}:{number}: the grade {grade!r} is no whole number") from None
        for name, known, file in ((question, questions, QUESTIONS), (passage, passages, CORPUS)):
            if name not in known:
                raise ValueError(f"{path}:{number}: {name!r} is not in {file}")
        if value > 0:
            found[question][passage] = value
    return found


def _links(path: Path, passages: set[str]) -> Iterator[Edge]:
    if not path.is_file():
        return
    for number, row in _objects(path, "src", "dst", "type"):
        for end in (row["src"], row["dst"]):
            if end not in passages:
                raise ValueError(f"{path}:{number}: {end!r} is not in {CORPUS}")
        yield Edge(source=row["src"], target=row["dst"], relation=row["type"])


def _vectors(path: Path, passages: int, questions: int) -> tuple[Matrix | None, Matrix | None]:
    if not path.is_file():
        return None, None
    with np.load(path) as arrays:
        if not {"D", "Q"} <= set(arrays):
            raise ValueError(f"{path}: needs the arrays D and Q, has {sorted(arrays)}")
        found = [np.asarray(arrays[name], dtype=np.float32) for name in ("D", "Q")]
    for matrix, rows, name in zip(found, (passages, questions), (CORPUS, QUESTIONS), strict=True):
        if matrix.ndim != 2 or len(matrix) != rows:
            raise ValueError(
                f"{path}: needs one row for each of the {rows} lines of {name}, has the shape "
                f"{matrix.shape}"
            )
    if found[0].shape[1] != found[1].shape[1]:
        raise ValueError(f"{path}: D and Q differ in length: {found[0].shape}, {found[1].shape}")
    return found[0], found[1]


def _fingerprint(folder: Path) -> str:
    digest = hashlib.sha256()
    for name in (CORPUS, QUESTIONS, JUDGEMENTS, LINKS, VECTORS):
        path = folder / name
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        digest.update(f"{name} {content}\n".encode())
    return digest.hexdigest()
