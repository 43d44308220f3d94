"""Checking a store with its vectors and files, and putting it in order (ruling B8)."""

import logging
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from langchain_core.documents import Document

from acms_adapters.indexing import ContextStore, StoreCheck

CHARACTERS = "character-frequency-v1"
FILES = {
    "mill.py": 'from corn import Corn\n\n\ndef grind(corn: Corn) -> int:\n    """Slowly."""\n'
    "    return corn.size\n",
    "corn.py": "class Corn:\n    size = 1\n",
    "guide.md": "# Guide\n\nSee [the mill](mill.py).\n\n## Grinding\n\nTurn the stone.\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "farm"
    root.mkdir()
    for name, text in FILES.items():
        (root / name).write_text(text)
    return root


@pytest.fixture
def place(tmp_path: Path, root: Path) -> Path:
    """A store with files and a document."""
    place = tmp_path / "store"
    with ContextStore.open(place, embedder=CHARACTERS) as store:
        store.add_path(root)
        store.add_documents([Document(id="d", page_content="millet", metadata={"links": ["x"]})])
        assert store.check().is_clean
    return place


def edit(place: Path, *statements: str) -> None:
    with closing(sqlite3.connect(place / "store.sqlite3")) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount
        connection.commit()


def open_and_check(place: Path, *, repair: bool = True) -> StoreCheck:
    with ContextStore.open(place, embedder=CHARACTERS) as store:
        return store.check(repair=repair)


def rows(place: Path) -> Iterator[str]:
    with closing(sqlite3.connect(place / "store.sqlite3")) as connection:
        for table in ("resources", "nodes", "edges", "renderings", "names", "terms"):
            yield from sorted(map(str, connection.execute(f"SELECT * FROM {table}")))


def test_a_store_in_order_is_told_by_numbers(place: Path) -> None:
    found = open_and_check(place)
    assert found.is_clean
    assert found.is_whole
    assert found.resources == 5
    assert found.vectors == found.nodes - 1  # the project itself is not searched
    assert list(found.lines()) == [
        f"in order: 5 resources, {found.nodes} nodes, {found.edges} edges, {found.vectors} vectors"
    ]
    assert str(found) == "\n".join(found.lines())


def test_vectors_are_put_in_order_from_the_texts(place: Path) -> None:
    with ContextStore.open(place, embedder=CHARACTERS) as store:
        vectors = store.backends().vector
        wanted = vectors.hashes()
        gone, other = sorted(wanted)[:2]
        size = vectors.dimensions
        vectors.remove([gone])
        vectors.upsert([other, "stranger"], [[1.0] * size] * 2, hashes=["old", "old"])
        looked = store.check(repair=False)
        told = {finding.what: finding.names for finding in looked.findings}
        assert told == {
            "missing": (gone,),
            "made of another text": (other,),
            "of texts that are gone": ("stranger",),
        }
        assert not looked.is_whole
        assert store.check(repair=False).findings == looked.findings
        assert store.check().is_whole
        assert store.check().is_clean
        assert vectors.hashes() == wanted


@pytest.mark.parametrize("name", ["mill.py", "corn.py", "guide.md"])
def test_a_damaged_file_is_read_again_if_it_is_as_it_was(
    place: Path, root: Path, name: str
) -> None:
    whole = list(rows(place))
    file = f"(SELECT id FROM resources WHERE uri = 'project://farm/{name}')"
    nodes = f"(SELECT id FROM nodes WHERE owner = {file})"
    edit(
        place,
        f"UPDATE renderings SET content = 'x' WHERE node IN {nodes}",
        f"DELETE FROM edges WHERE derived = 0 AND owner = {file}",
    )
    found = open_and_check(place)
    assert {finding.part for finding in found.findings} >= {"texts", "edges"}
    assert found.is_whole
    assert open_and_check(place).is_clean
    assert list(rows(place)) == whole
    with ContextStore.open(place) as store:
        assert store.add_path(root).changed == ()


def test_a_projects_own_nodes_are_made_again(place: Path) -> None:
    whole = list(rows(place))
    edit(place, "UPDATE nodes SET tier = 'hot' WHERE uri = 'project://farm'")
    assert open_and_check(place).is_whole
    assert list(rows(place)) == whole


def test_what_changed_since_or_came_without_a_file_waits_to_be_added_again(
    place: Path, root: Path
) -> None:
    (root / "mill.py").write_text("def grind(): ...\n")
    shutil.move(root / "corn.py", root / "maize.py")
    edit(place, "UPDATE renderings SET content = 'x' WHERE depth = 9")
    found = open_and_check(place)
    left = [finding for finding in found.findings if not finding.repaired]
    assert not found.is_whole
    assert [finding.names for finding in left] == [
        ("d", "project://farm/corn.py", "project://farm/mill.py")
    ]
    assert any("project://farm/guide.md" in f.names for f in found.findings if f.repaired)
    assert not open_and_check(place).is_whole
    with ContextStore.open(place) as store:
        report = store.add_path(root)
        assert report.changed == ("project://farm/mill.py",)
        assert report.removed == ("project://farm/corn.py",)
        store.add_documents([Document(id="d", page_content="millet", metadata={"links": ["x"]})])
        assert store.check().is_clean


def test_a_store_that_is_only_read_is_looked_at(place: Path) -> None:
    edit(place, "DELETE FROM facts")
    with ContextStore.open(place, read_only=True) as store:
        assert not store.check().is_whole
    assert open_and_check(place).is_whole


def test_without_vectors_the_rest_is_checked(place: Path) -> None:
    with ContextStore.open(place, embedder=None) as store:
        assert store.check().vectors is None
        assert "no vectors" in "\n".join(store.check().lines())


# what a process leaves that ends while it writes vectors


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made")
    with ContextStore.open(place, embedder=CHARACTERS) as store:
        store.add_documents(
            [Document(id=str(n), page_content=f"text number {n}") for n in range(1100)]
        )
    return place


@pytest.fixture
def many(made: Path, tmp_path: Path) -> Path:
    """A folder of vectors, so many that Chroma keeps them in files of their own."""
    place = tmp_path / "many"
    shutil.copytree(made, place)
    (segment,) = [path for path in (place / "chroma").iterdir() if path.is_dir()]
    assert (segment / "data_level0.bin").stat().st_size
    return segment


@pytest.mark.parametrize(
    ("file", "size"),
    [
        ("data_level0.bin", 1000),
        ("data_level0.bin", 0),
        ("header.bin", 50),
        ("header.bin", 0),
        ("length.bin", 10),
        ("index_metadata.pickle", 100),
        ("../chroma.sqlite3", 8192),
    ],
)
def test_vectors_written_in_part_are_made_anew_at_the_next_opening(
    many: Path, file: str, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    place = many.parent.parent
    os.truncate(many / file, size)
    with (
        caplog.at_level(logging.WARNING, "acms_adapters"),
        ContextStore.open(place, read_only=True) as reader,
    ):
        assert reader.backends().vector is None
        assert reader.backends().text.search("number")
    assert "damaged" in caplog.text
    with ContextStore.open(place) as store:
        assert store.stats().vectors == 1100
        assert store.check().is_clean


def test_lost_vectors_are_made_anew_by_a_check(many: Path) -> None:
    place = many.parent.parent
    shutil.rmtree(many)
    with ContextStore.open(place) as store:
        found = store.check()
        assert [finding.what for finding in found.findings] == ["cannot be read"]
        assert found.is_whole
        assert store.check().is_clean


def test_lost_vectors_are_made_anew_where_a_run_did_not_end(many: Path) -> None:
    place = many.parent.parent
    shutil.rmtree(many)
    (place / "vectors.json").unlink()
    with ContextStore.open(place, embedder=CHARACTERS) as store:
        assert store.check().is_clean
