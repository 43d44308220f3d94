"""A store follows a folder: what is new, changed, gone or left out (I1 to I3, M4, B8)."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acms_adapters.errors import RequestError
from acms_adapters.indexing import ContextStore, IndexReport, Skip
from acms_adapters.models import Edge

FILES: dict[str, str | bytes] = {
    "pkg/__init__.py": "from pkg.shapes import Circle\n",
    "pkg/shapes.py": (
        "from pkg.base import Shape\n\n\nclass Circle(Shape):\n"
        "    def area(self):\n        return quadrature(self.radius)\n\n"
        "    def grow(self):\n        return self.area()\n"
    ),
    "pkg/base.py": (
        "class Shape:\n    def draw(self):\n        pass\n\n\ndef quadrature(x):\n    return x\n"
    ),
    "tests/test_shapes.py": "from pkg import Circle\n\n\ndef test_area():\n    Circle().grow()\n",
    "docs/guide.md": "# Guide\n\nSee [shapes](../pkg/shapes.py).\n\n## Drawing\n\nDraw it.\n",
    "notes.txt": "Remember the millet harvest.\n",
}
URI = "project://app"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "app"
    for name, content in FILES.items():
        write(root / name, content)
    return root


@pytest.fixture
def store() -> Iterator[ContextStore]:
    with ContextStore.in_memory(embedder="character-frequency-v1") as store:
        yield store


def write(file: Path, content: str | bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)


def found(store: ContextStore, query: str) -> set[str]:
    return {hit.uko_node.removeprefix(f"{URI}/") for hit in store.backends().text.search(query)}


def edges(store: ContextStore, node: str, **options: Any) -> set[tuple[str, str, str]]:
    uri = f"{URI}/{node}" if node else URI
    return {
        (e.source.removeprefix(f"{URI}/"), e.relation, e.target.removeprefix(f"{URI}/"))
        for e in store.backends().graph.neighbors([uri], **options)
    }


def vectors(store: ContextStore) -> dict[str, str]:
    assert store._vectors is not None
    return store._vectors.index.hashes()


def content(store: ContextStore) -> Any:
    """Everything that is kept, but for times of files."""
    backends = store.backends()
    nodes = sorted(vectors(store))
    return (
        [
            (hit.uko_node, hit.content, hit.metadata, hit.provenance, hit.token_count)
            for hit in backends.graph.get(nodes)
        ],
        {n: [backends.renderings.at(n, d) for d in backends.renderings.depths(n)] for n in nodes},
        sorted(map(repr, backends.graph.neighbors([*nodes, URI]))),
        vectors(store),
    )


def test_files_become_nodes_found_by_word_vector_and_name(root: Path, store: ContextStore) -> None:
    report = store.add_path(root)
    assert report.project == URI
    assert report.total == len(report.added) == 6
    assert "notes.txt" in found(store, "millet")
    assert "pkg/shapes.py#Circle.area" in found(store, "quadrature radius")
    named = store.backends().graph.resolve("what does `Circle` do?")
    assert named[0][0] == f"{URI}/pkg/shapes.py#Circle"
    assert f"{URI}/pkg/shapes.py#Circle.area" in vectors(store)


def test_nodes_are_contained_from_project_to_method_i2(root: Path, store: ContextStore) -> None:
    store.add_path(root)
    down = {"direction": "out", "relations": ["contains"]}
    assert {t for _, _, t in edges(store, "", **down)} == {"docs", "notes.txt", "pkg", "tests"}
    assert ("pkg", "contains", "pkg/shapes.py") in edges(store, "pkg", **down)
    assert ("pkg/shapes.py", "contains", "pkg/shapes.py#Circle") in edges(store, "pkg/shapes.py")
    circle = edges(store, "pkg/shapes.py#Circle", **down)
    assert ("pkg/shapes.py#Circle", "contains", "pkg/shapes.py#Circle.area") in circle


def test_imports_calls_bases_and_links_lead_across_files_i2(
    root: Path, store: ContextStore
) -> None:
    store.add_path(root)
    out = {"direction": "out"}
    assert ("pkg/shapes.py", "imports", "pkg/base.py#Shape") in edges(store, "pkg/shapes.py", **out)
    circle = edges(store, "pkg/shapes.py#Circle", **out)
    assert ("pkg/shapes.py#Circle", "inherits", "pkg/base.py#Shape") in circle
    area = edges(store, "pkg/shapes.py#Circle.area", **out)
    assert ("pkg/shapes.py#Circle.area", "calls", "pkg/base.py#quadrature") in area
    grow = edges(store, "pkg/shapes.py#Circle.grow", **out)
    assert ("pkg/shapes.py#Circle.grow", "calls", "pkg/shapes.py#Circle.area") in grow
    test = edges(store, "tests/test_shapes.py#test_area", **out)
    assert ("tests/test_shapes.py#test_area", "calls", "pkg/shapes.py#Circle") in test
    guide = edges(store, "docs/guide.md", **out)
    assert ("docs/guide.md", "links", "pkg/shapes.py") in guide


def test_the_kind_of_resource_stands_in_provenance_and_metadata_m4(
    root: Path, store: ContextStore
) -> None:
    """M4.types."""
    store.add_path(root)
    (hit,) = store.backends().graph.get([f"{URI}/tests/test_shapes.py#test_area"])
    assert hit.provenance.resource_type == hit.metadata["resource_type"] == "test"
    found = store.backends().text.search("Circle", resource_types=["test"])
    assert {hit.provenance.resource_type for hit in found} == {"test"}


def test_an_unchanged_folder_is_left_alone(root: Path, store: ContextStore) -> None:
    store.add_path(root)
    before = store.stats()
    report = store.add_path(root)
    assert (report.unchanged, report.added, report.changed, report.removed) == (6, (), (), ())
    assert store.stats() == before


def test_a_changed_file_is_replaced_in_text_vectors_and_graph(
    root: Path, store: ContextStore
) -> None:
    store.add_path(root)
    write(root / "pkg/shapes.py", "class Square:\n    def side(self):\n        return flagstone\n")
    report = store.add_path(root)
    assert report.changed == (f"{URI}/pkg/shapes.py",)
    assert (report.unchanged, report.added) == (5, ())
    assert found(store, "radius") == set()
    assert "pkg/shapes.py#Square.side" in found(store, "flagstone")
    assert f"{URI}/pkg/shapes.py#Circle.area" not in vectors(store)
    assert f"{URI}/pkg/shapes.py#Square.side" in vectors(store)
    assert not [e for e in edges(store, "pkg/base.py#Shape") if e[1] == "inherits"]


def test_a_removed_file_goes_and_comes_back(root: Path, store: ContextStore) -> None:
    store.add_path(root)
    before = content(store)
    (root / "pkg/base.py").rename(root.parent / "base.py")
    report = store.add_path(root)
    assert report.removed == (f"{URI}/pkg/base.py",)
    assert "pkg/base.py#quadrature" not in found(store, "quadrature")
    assert not [e for e in edges(store, "pkg/shapes.py#Circle") if e[1] == "inherits"]
    (root.parent / "base.py").rename(root / "pkg/base.py")
    store.add_path(root)
    assert content(store) == before


def test_an_empty_folder_gives_a_report_without_files(tmp_path: Path, store: ContextStore) -> None:
    (tmp_path / "empty").mkdir()
    report = store.add_path(tmp_path / "empty")
    assert report == IndexReport(kind="files", project="project://empty")
    assert report.total == 0
    assert store.stats().resources == 0


def test_a_folder_that_became_empty_leaves_nothing(root: Path, store: ContextStore) -> None:
    store.add_path(root)
    shutil.rmtree(root)
    root.mkdir()
    assert len(store.add_path(root).removed) == 6
    assert (store.stats().resources, store.stats().nodes, vectors(store)) == (0, {}, {})


def test_the_same_folder_from_elsewhere_is_the_same_project(
    root: Path, store: ContextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add_path(root)
    monkeypatch.chdir(root)
    assert store.add_path(".").unchanged == 6
    monkeypatch.chdir(root / "pkg")
    assert store.add_path("..").unchanged == 6
    (root.parent / "link").symlink_to(root, target_is_directory=True)
    assert store.add_path(root.parent / "link").unchanged == 6
    assert store.stats().nodes["project"] == 1


def test_a_folder_that_moved_is_the_same_project(root: Path, store: ContextStore) -> None:
    store.add_path(root)
    moved = root.parent / "elsewhere" / "app"
    moved.parent.mkdir()
    root.rename(moved)
    assert store.add_path(moved).unchanged == 6


def test_another_folder_of_the_same_name_needs_a_name_of_its_own(
    root: Path, store: ContextStore
) -> None:
    store.add_path(root)
    other = root.parent / "other" / "app"
    write(other / "x.py", "x = 1\n")
    with pytest.raises(RequestError, match="pass another name="):
        store.add_path(other)
    assert store.add_path(other, name="second").project == "project://second"
    assert store.add_path(other).project == "project://second"
    assert store.add_path(root).unchanged == 6


def test_a_folder_inside_a_project_is_a_part_of_it(root: Path, store: ContextStore) -> None:
    store.add_path(root)
    write(root / "pkg/new.py", "def fresh(): return saffron\n")
    write(root / "other.py", "x = 1\n")
    (root / "pkg/base.py").unlink()
    report = store.add_path(root / "pkg")
    assert report.project == URI
    assert report.added == (f"{URI}/pkg/new.py",)
    assert report.removed == (f"{URI}/pkg/base.py",)
    assert "notes.txt" in found(store, "millet")


def test_a_file_alone_is_indexed_and_takes_nothing_else_away(
    root: Path, store: ContextStore
) -> None:
    report = store.add_path(root / "notes.txt")
    assert report.added == (f"{URI}/notes.txt",)
    assert store.add_path(root / "pkg" / "base.py").added == (f"{URI}/pkg/base.py",)
    assert "notes.txt" in found(store, "millet")


def test_what_a_call_does_not_ask_for_stays(root: Path, store: ContextStore) -> None:
    store.add_path(root, include=["*.py"])
    assert found(store, "millet") == set()
    report = store.add_path(root, include="*.txt")
    assert (report.added, report.removed) == ((f"{URI}/notes.txt",), ())
    (root / "pkg/base.py").unlink()
    assert store.add_path(root, include="*.txt").removed == (f"{URI}/pkg/base.py",)
    assert store.add_path(root, exclude=["tests/"]).removed == (f"{URI}/tests/test_shapes.py",)


def test_everything_left_out_is_named_with_its_reason_i3(root: Path, store: ContextStore) -> None:
    (root.parent / "secret.txt").write_text("x")
    (root / "out.txt").symlink_to(root.parent / "secret.txt")
    write(root / ".gitignore", "build/\n")
    write(root / "build/x.py", "x = 1\n")
    write(root / ".env", "KEY=1\n")
    write(root / "id_rsa", "x\n")
    write(root / "logo.png", b"\x89PNG\0\0")
    write(root / "latin.md", b"caf\xe9\n")
    write(root / "empty.py", "")
    write(root / "large.txt", "x" * 5000)
    write(root / "broken.py", "def (:\n")
    report = store.add_path(root, max_bytes=4000)
    assert {skip.name: skip.reason for skip in report.skipped} == {
        ".env": "secret",
        "id_rsa": "secret",
        "build/": "ignored by .gitignore",
        "out.txt": "link that leads outside",
        "logo.png": "binary",
        "latin.md": "broken encoding: no valid utf-8 at byte 3",
        "empty.py": "empty",
        "large.txt": "too large: 5,000 bytes, at most 4,000",
    }
    (note,) = report.notes
    assert note.name == "broken.py"
    assert "no valid Python in line 1" in note.reason
    assert "broken.py" in found(store, "def")
    assert report.as_dict()["skipped"][0].keys() == {"name", "reason"}
    assert report.summary().startswith(f"{URI}: 8 files (8 added")
    first, *lines = str(report).splitlines()
    assert first == report.summary()
    assert "  secret: .env and 1 more" in lines
    assert lines[-1] == "  3 reasons more"


def test_a_file_that_may_no_longer_be_indexed_goes(root: Path, store: ContextStore) -> None:
    store.add_path(root)
    write(root / "notes.txt", b"\x00\x01")
    report = store.add_path(root)
    assert report.removed == (f"{URI}/notes.txt",)
    assert report.skipped == (Skip("notes.txt", "binary"),)


def test_names_that_are_no_text_or_hold_signs_of_uris_stay_apart_m4(
    tmp_path: Path, store: ContextStore
) -> None:
    root = tmp_path / "app"
    root.mkdir()
    for name in ("a#b.txt", "a%23b.txt", "c d.txt", "你好.txt", "line\nbreak.txt"):
        (root / name).write_text(f"words of {name!r}")
    with open(os.fsencode(root) + b"/raw\xff.txt", "w") as file:
        file.write("words of the raw one")
    report = store.add_path(root)
    assert sorted(uri.removeprefix(f"{URI}/") for uri in report.added) == [
        "a%23b.txt",
        "a%2523b.txt",
        "c d.txt",
        "line%0Abreak.txt",
        "raw%FF.txt",
        "你好.txt",
    ]
    assert store.add_path(root).unchanged == 6
    assert store.remove(root / "c d.txt") == 1


@pytest.mark.parametrize("name", ["", " ", "a/b"])
def test_a_name_that_cannot_be_one_is_refused(root: Path, store: ContextStore, name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        store.add_path(root, name=name)


def test_a_missing_path_is_named(tmp_path: Path, store: ContextStore) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        store.add_path(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("target", "count", "left"),
    [
        (URI, 6, 0),
        (f"{URI}/pkg", 3, 3),
        (f"{URI}/pkg/", 3, 3),
        (f"{URI}/notes.txt", 1, 5),
        ("project://ap", 0, 6),
        ("project://other", 0, 6),
    ],
)
def test_a_uri_removes_what_lies_below_it(
    root: Path, store: ContextStore, target: str, count: int, left: int
) -> None:
    store.add_path(root)
    assert store.remove(target) == count
    assert store.stats().resources == (left + 1 if left else 0)
    assert store.add_path(root).unchanged == left


def test_a_path_removes_what_was_indexed_of_it_even_if_it_is_gone(
    root: Path, store: ContextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add_path(root)
    shutil.rmtree(root / "pkg")
    monkeypatch.chdir(root)
    assert store.remove(Path("pkg")) == 3
    assert store.remove("pkg") == 0
    assert "pkg" not in {t for _, _, t in edges(store, "")}
    assert store.remove(root) == 3
    assert store.stats().nodes == {}


def test_the_stores_own_folder_is_never_indexed(root: Path) -> None:
    with ContextStore.open(root / "kept", embedder=None) as store:
        assert store.add_path(root).total == 6
        assert store.add_path(root).total == 6


def test_progress_tells_stages_up_to_their_end(root: Path, store: ContextStore) -> None:
    told: list[tuple[str, int, int]] = []
    store.add_path(root, progress=lambda *said: told.append(said))
    for stage in ("reading", "embedding"):
        steps = [(done, total) for name, done, total in told if name == stage]
        assert steps == sorted(steps)
        assert steps[-1][0] == steps[-1][1]


def test_two_runs_give_equal_stores(root: Path) -> None:
    stores = [ContextStore.in_memory(embedder="character-frequency-v1") for _ in range(2)]
    for store in stores:
        store.add_path(root)
    assert content(stores[0]) == content(stores[1])
    for store in stores:
        store.close()


def test_a_store_that_grew_step_by_step_equals_one_made_at_once(root: Path, tmp_path: Path) -> None:
    late = {name: (root / name).read_bytes() for name in ("pkg/base.py", "docs/guide.md")}
    stat = {name: (root / name).stat() for name in late}
    for name in late:
        (root / name).unlink()
    with ContextStore.in_memory(embedder="character-frequency-v1") as store:
        store.add_path(root)
        for name, data in late.items():
            write(root / name, data)
            os.utime(root / name, ns=(stat[name].st_atime_ns, stat[name].st_mtime_ns))
            store.add_path(root)
        with ContextStore.in_memory(embedder="character-frequency-v1") as other:
            other.add_path(root)
            assert content(store) == content(other)


def test_hashes_of_strings_do_not_change_what_is_kept(root: Path) -> None:
    code = (
        "import sys\nfrom acms_adapters.indexing import ContextStore\n"
        "store = ContextStore.in_memory(embedder=None)\nstore.add_path(sys.argv[1])\n"
        "graph = store.backends().graph\nfiles = sorted(store._texts.vector_hashes().items())\n"
        "print(files, graph.neighbors([uri for uri, _ in files]))\n"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code, str(root)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1


def test_the_same_texts_under_two_names_are_two_projects(root: Path, store: ContextStore) -> None:
    store.add_path(root)
    copied = root.parent / "copy"
    shutil.copytree(root, copied)
    assert store.add_path(copied).total == 6
    assert edges(store, "pkg/shapes.py#Circle", direction="out", relations=["inherits"]) == {
        ("pkg/shapes.py#Circle", "inherits", "pkg/base.py#Shape")
    }
    hit = store.backends().graph.neighbors(
        ["project://copy/pkg/shapes.py#Circle"], relations=["inherits"]
    )
    assert hit == [
        Edge(
            source="project://copy/pkg/shapes.py#Circle",
            target="project://copy/pkg/base.py#Shape",
            relation="inherits",
        )
    ]
