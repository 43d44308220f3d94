"""What a store keeps of what it read (rulings B3, B4, B8)."""

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from acms_adapters.backends.sqlite import SQLiteStore, kept
from acms_adapters.backends.sqlite.kept import Kept


def answers(store: SQLiteStore) -> dict[str, Any]:
    """All that is kept, asked for."""
    return {
        "text": [hit.content for hit in store.text.search("apples pears")],
        "rated": set(store.text.rate("apples pears", ["a", "b"])),
        "nodes": [hit.content for hit in store.graph.get(["a", "b"])],
        "edges": [edge.target for edge in store.graph.neighbors(["a"], limit=5)],
        "sharing": store.graph.sharing(["a"]),
        "depths": store.renderings.depths("a"),
        "rendering": getattr(store.renderings.at("a", 9), "content", None),
    }


def write(store: SQLiteStore, make: Any, *, text: str, target: str) -> None:
    store.replace(
        make.resource(
            make.node("a", text), make.node("b", "pears and Mary Shelley"),
            make.node("c", "plums"), uri="r", edges=(("a", "links", target),),
        )
    )  # fmt: skip


class TestWrites:
    """B8: what is kept is never older than the store."""

    def test_what_was_written_is_answered_at_once(self, store: SQLiteStore, make: Any) -> None:
        write(store, make, text="apples of Mary Shelley", target="b")
        before = answers(store)
        assert before == answers(store)
        write(store, make, text="apples", target="c")
        after = answers(store)
        assert after == {
            "text": ["apples", "pears and Mary Shelley"],
            "rated": {"a", "b"},
            "nodes": ["apples", "pears and Mary Shelley"],
            "edges": ["c"],
            "sharing": {},
            "depths": [9],
            "rendering": "apples",
        }
        assert before["sharing"] == {"a": {"b": 0.5}}
        store.remove("r")
        assert not any(answers(store).values())

    @pytest.mark.skipif(os.name == "nt", reason="an open file cannot be removed there")
    def test_a_file_made_anew_in_place_of_another_is_not_answered_for_by_that(
        self, tmp_path: Path, make: Any
    ) -> None:
        """Both at the same generation; a thread that begins to ask opens the new one."""
        mine = SQLiteStore(tmp_path / "s")
        write(mine, make, text="apples of Mary Shelley", target="b")
        answers(mine)
        for file in tmp_path.iterdir():
            file.unlink()
        with SQLiteStore(tmp_path / "s") as other:
            write(other, make, text="apples", target="c")
            assert mine.generation == other.generation
            with ThreadPoolExecutor(1) as threads:
                assert threads.submit(answers, mine).result() == answers(other)
        assert answers(mine)["edges"] == ["b"]
        mine.close()

    def test_another_ones_writes_are_seen(self, tmp_path: Path, make: Any) -> None:
        with SQLiteStore(tmp_path / "s") as mine, SQLiteStore(tmp_path / "s") as other:
            write(mine, make, text="apples", target="b")
            assert answers(mine)["rendering"] == "apples"
            write(other, make, text="pears", target="c")
            seen = answers(mine)
            assert (seen["rendering"], seen["edges"], seen["nodes"][0]) == ("pears", ["c"], "pears")

    def test_where_no_write_can_be_told_nothing_is_kept(self, tmp_path: Path, make: Any) -> None:
        with SQLiteStore(tmp_path / "s") as store:
            write(store, make, text="apples", target="b")
            with closing(sqlite3.connect(tmp_path / "s")) as connection, connection:
                connection.execute("DELETE FROM meta WHERE key = 'generation'")
            assert answers(store)["rendering"] == "apples"
            write(store, make, text="pears", target="c")
            assert answers(store)["rendering"] == "pears"

    def test_what_is_undone_is_never_kept(self, store: SQLiteStore, make: Any) -> None:
        write(store, make, text="apples", target="b")
        before = answers(store)
        inside: dict[str, Any] = {}

        def write_and_fail() -> None:
            with store.transaction():
                write(store, make, text="pears", target="c")
                inside.update(answers(store))
                raise RuntimeError

        with pytest.raises(RuntimeError):
            write_and_fail()
        assert inside["rendering"] == "pears"
        assert answers(store) == before


class TestHits:
    def test_every_hit_has_metadata_of_its_own(self, store: SQLiteStore, make: Any) -> None:
        """B4."""
        store.replace(make.resource(make.node("a", "apples", metadata={"tags": ["x"]})))
        store.graph.get(["a"])[0].metadata["tags"].append("y")
        assert store.graph.get(["a"])[0].metadata == {"tags": ["x"]}
        assert store.text.search("apples")[0].metadata == {"tags": ["x"]}

    def test_scores_are_those_of_the_search_that_found_it(
        self, store: SQLiteStore, make: Any
    ) -> None:
        store.replace(make.resource(make.node("a", "apples"), make.node("b", "pears"), uri="r"))
        (hit,) = store.text.search("apples")
        assert hit.score > 0.0
        assert store.graph.get(["a"])[0].score == 0.0
        assert store.text.rate("apples", ["a"]) == {"a": hit.score}

    def test_filters_hold_for_what_is_kept(self, store: SQLiteStore, make: Any) -> None:
        """B5."""
        store.replace(make.resource(make.node("a", "apples", metadata={"k": 1})))
        assert len(store.graph.get(["a"])) == 1
        assert store.graph.get(["a"], metadata_filter={"k": 2}) == []
        assert store.graph.get(["a"], scope=["elsewhere://"]) == []


class TestBound:
    def test_no_more_is_kept_than_the_bound(
        self, store: SQLiteStore, make: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(kept, "MOST_CHARS", 20_000)
        nodes = [make.node(f"n{i:03}", f"apples {i} " + "x" * 500) for i in range(100)]
        store.replace(make.resource(*nodes, uri="r"))
        found = [store.graph.get([node.uko_node])[0].content for node in nodes]
        assert found == [node.renderings[9] for node in nodes]
        known = store._database._kept
        assert 0 < len(known.hits) < 40
        assert len(store.text.search("apples", max_results=200)) == 100

    def test_few_questions_are_kept(self) -> None:
        known = Kept()
        for number in range(100):
            known.note(((str(number),),), kept.Question([]))
        assert len(known.questions) <= kept.MOST_QUESTIONS
        assert known.question((("99",),)) is not None
