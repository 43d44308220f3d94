"""Reading a data set, and what is said about one that cannot be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from acms_adapters.evaluation import read_dataset
from acms_adapters.models import Edge


def test_a_set_is_read_with_its_evidence_answers_links_and_vectors(write_set) -> None:
    data = read_dataset(write_set(links=[("amber", "chalk", "mentions_title")], vectors=True))
    assert data.name == "stones"
    assert [passage.id for passage in data.passages] == ["amber", "basalt", "chalk", "dolomite"]
    assert data.passages[0].whole.startswith("Amber\nAmber is fossil")
    assert data.questions[2].evidence == {"chalk": 2, "dolomite": 1}
    assert data.questions[0].answers == ("Amber",)
    assert data.questions[1].answers == ("Basalt", "basaltic rock")
    assert data.links == (Edge(source="amber", target="chalk", relation="mentions_title"),)
    assert data.passage_vectors is not None
    assert data.passage_vectors.shape == (4, 8)


def test_a_passage_without_a_title_is_its_text_alone(write_set) -> None:
    folder = write_set([("a", "", "Text.")], [("q", "Text?", {})], [("q", "a", 1)])
    assert read_dataset(folder).passages[0].whole == "Text."


def test_questions_without_evidence_are_left_out_with_their_vectors_and_counted(write_set) -> None:
    judged = [("q-lava", "basalt", 1), ("q-amber", "amber", 0)]
    data = read_dataset(write_set(judgements=judged, vectors=True))
    assert [question.id for question in data.questions] == ["q-lava"]
    assert data.unjudged == 2
    assert data.question_vectors is not None
    assert data.question_vectors.tolist() == [[0, 1, 0, 0, 0, 0, 0, 0]]


def test_earlier_turns_come_in_order(write_set) -> None:
    turns = [{"role": "user", "text": "Hello"}, {"role": "agent", "text": "Good day"}]
    folder = write_set(
        questions=[("q-amber", "And resin?", {"history": turns})],
        judgements=[("q-amber", "amber", 1)],
    )
    (question,) = read_dataset(folder).questions
    assert question.history == (("user", "Hello"), ("agent", "Good day"))


def test_the_fingerprint_tells_sets_apart(write_set) -> None:
    first, second = read_dataset(write_set()), read_dataset(write_set(name="again"))
    assert first.fingerprint == second.fingerprint
    other = read_dataset(write_set(judgements=[("q-lava", "basalt", 1)], name="other"))
    assert other.fingerprint != first.fingerprint


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_missing_file_is_named(name: str, write_set) -> None:
    folder = write_set()
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=name):
        read_dataset(folder)


BROKEN = [
    ("corpus.jsonl", "{nonsense\n", r"corpus\.jsonl:5: no JSON"),
    ("corpus.jsonl", '["a list"]\n', r"corpus\.jsonl:5: needs a JSON object.*_id"),
    ("corpus.jsonl", '{"_id": "x"}\n', r"corpus\.jsonl:5: .*'text' is missing"),
    ("corpus.jsonl", '{"_id": 7, "text": "x"}\n', r"corpus\.jsonl:5: .*'_id' is missing or no"),
    ("corpus.jsonl", '{"_id": "x", "text": "x", "title": 7}\n', r"corpus\.jsonl:5: the title"),
    ("corpus.jsonl", '{"_id": "amber", "text": "x"}\n', r"corpus\.jsonl:5: .*stands in line 1"),
    ("queries.jsonl", '{"_id": "q-amber", "text": "x"}\n', r"queries\.jsonl:4: .*in line 1"),
    ("qrels.tsv", "q-amber\tamber\n", r"qrels\.tsv:6: .*has 2 cells"),
    ("qrels.tsv", "q-amber\tgranite\t1\n", r"qrels\.tsv:6: 'granite' is not in corpus\.jsonl"),
    ("qrels.tsv", "q-none\tamber\t1\n", r"qrels\.tsv:6: 'q-none' is not in queries\.jsonl"),
    ("qrels.tsv", "q-amber\tamber\thigh\n", r"qrels\.tsv:6: the grade 'high'"),
    ("links.jsonl", '{"src": "amber", "dst": "x", "type": "t"}\n', r"links\.jsonl:1: 'x' is not"),
]


@pytest.mark.parametrize(("name", "line", "said"), BROKEN, ids=lambda value: str(value)[:24])
def test_what_cannot_be_is_refused_with_file_and_line(
    name: str, line: str, said: str, write_set
) -> None:
    folder: Path = write_set()
    with (folder / name).open("a", encoding="utf-8") as file:
        file.write(line)
    with pytest.raises(ValueError, match=said):
        read_dataset(folder)


def test_judgements_need_no_line_of_names_and_a_wrong_first_line_is_no_such(write_set) -> None:
    folder = write_set()
    (folder / "qrels.tsv").write_text("q-amber\tamber\t1\n")
    assert [question.id for question in read_dataset(folder).questions] == ["q-amber"]
    (folder / "qrels.tsv").write_text("q-anber\tamber\t1\n")
    with pytest.raises(ValueError, match=r"qrels\.tsv:1: 'q-anber' is not in queries\.jsonl"):
        read_dataset(folder)


def test_a_corpus_without_passages_is_refused(write_set) -> None:
    with pytest.raises(ValueError, match=r"corpus\.jsonl: there is no passage"):
        read_dataset(write_set([], judgements=[]))


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"D": np.eye(4)}, "needs the arrays D and Q"),
        ({"D": np.eye(3), "Q": np.eye(3)}, r"one row for each of the 4 lines of corpus\.jsonl"),
        ({"D": np.eye(4), "Q": np.eye(4)}, r"one row for each of the 3 lines of queries\.jsonl"),
        ({"D": np.eye(4), "Q": np.eye(3)}, "differ in length"),
    ],
)
def test_vectors_that_do_not_fit_the_files_are_refused(arrays, said: str, write_set) -> None:
    folder = write_set()
    np.savez(folder / "minilm.npz", **arrays)
    with pytest.raises(ValueError, match=said):
        read_dataset(folder)


def test_a_line_separator_inside_a_text_ends_no_line(write_set) -> None:
    folder = write_set()
    with (folder / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"_id": "x", "text": "one\u2028two"}\n')
    assert read_dataset(folder).passages[-1].text == "one\u2028two"


def test_a_mark_of_the_byte_order_is_no_part_of_a_file(write_set) -> None:
    folder = write_set()
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"):
        file = folder / name
        file.write_text(file.read_text(encoding="utf-8"), encoding="utf-8-sig")
    assert len(read_dataset(folder).passages) == 4
