"""The worked examples of the guide run offline on a real code base and show what they are about."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("chromadb")
pytest.importorskip("wordllama")


def parts(output: str) -> dict[str, str]:
    """Text of each titled part."""
    pieces = re.split(r"^(\S.*?) ─{5,}$", output, flags=re.MULTILINE)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def figures(part: str) -> tuple[int, int, int]:
    """Fragments, tokens, and tokens there were."""
    (fragments,) = re.findall(r"^Fragments: (\d+)$", part, re.MULTILINE)
    ((used, available),) = re.findall(r"^Tokens: (\d+) / (\d+)$", part, re.MULTILINE)
    return int(fragments), int(used), int(available)


def lines(part: str) -> list[tuple[int, str, str]]:
    """Depth, kind and node of the fragments that are shown."""
    found = re.findall(r"^  depth (\d), +\d+ tokens  (\w+) +(\S+)$", part, re.MULTILINE)
    return [(int(depth), kind, node) for depth, kind, node in found]


@pytest.mark.parametrize("output", ["worked_feature"], indirect=True)
def test_a_new_feature_is_given_its_files_and_what_was_decided_of_them(output: str) -> None:
    """E4-feature."""
    shown = parts(output)
    fragments, used, available = figures(shown["Assemble"])
    assert fragments > 0
    assert 0 < used <= available == 4096 - 512
    assert "Strategies: arce" in shown["Assemble"]
    read = lines(shown["Assemble"])
    nodes = [node for _, _, node in read]
    assert {"db/impl/sqlite.py", "db/impl/sqlite_pool.py"} <= set(nodes[:3])
    assert {kind for _, kind, _ in read} == {"source_file", "decision"}
    assert all(depth <= 4 for depth, kind, _ in read if kind == "source_file")
    assert re.search(r"Implement async I/O, reads context [0-9a-f]{64}$", output, re.MULTILINE)


@pytest.mark.parametrize("output", ["worked_slow_query"], indirect=True)
def test_a_slow_query_leads_to_decisions_of_the_last_thirty_days_and_their_code(
    output: str,
) -> None:
    """E4-slow-query."""
    shown = parts(output)
    _, used, available = figures(shown["Assemble"])
    assert 0 < used <= available == 4096 - 512
    assert "Strategies: temporal-archaeology" in shown["Assemble"]
    assert lines(shown["Assemble"])[0][2] == "segment/impl/metadata/sqlite.py"
    analysed = shown["Analyse"]
    assert "Hot tier fragments: 0" in analysed
    decided = re.findall(r"^\d{4}-\d\d-\d\d (.*)$", analysed, re.MULTILINE)
    assert decided == ["Metadata is filtered in SQL", "Full text has its own table"]
    assert len(lines(analysed)) == 5


@pytest.mark.parametrize("output", ["worked_code_review"], indirect=True)
def test_a_review_is_given_the_changed_files_their_decisions_and_tests(output: str) -> None:
    """E4-review."""
    shown = parts(output)
    _, used, available = figures(shown["Assemble"])
    assert 0 < used <= available == 8192 - 512
    assert "Strategies: breadth-depth-navigator" in shown["Assemble"]
    read = lines(shown["Assemble"])
    assert {node for _, _, node in read[:3]} == {
        "auth/__init__.py",
        "auth/simple_rbac_authz/__init__.py",
        "test/auth/test_rbac_authz.py",
    }
    related = {
        name: int(count)
        for name, count in re.findall(r"^Related (\w+): (\d+)$", shown["Review"], re.MULTILINE)
    }
    assert related["decisions"] == 1
    assert related["tests"] >= 2
    assert related["code"] >= 3


@pytest.mark.parametrize("output", ["worked_plan_hierarchy"], indirect=True)
def test_subplans_read_their_own_part_and_a_skeleton_of_their_parents(output: str) -> None:
    """E4-plans."""
    shown = parts(output)
    _, used, available = figures(shown["Parent: refactor"])
    assert 0 < used <= available == 4096 - 512
    assert "Inherited" not in shown["Parent: refactor"]
    for name, focus, other in (
        ("auth", "auth/__init__.py", "db/"),
        ("db", "db/impl/sqlite.py", "auth/"),
    ):
        part = shown[f"Subplan: refactor {name}"]
        _, used, available = figures(part)
        assert 0 < used <= available == 3584 - 512
        assert lines(part)[0][2] == focus
        assert not lines(part)[1][2].startswith(other)
        ((count, kept, known, ratio),) = re.findall(
            r"Inherited: (\d+) fragments, (\d+) of (\d+) tokens at ratio (\S+)", part
        )
        assert int(count) > 0
        assert 0 < int(kept) <= 0.15 * available
        assert int(kept) < int(known)
        assert ratio == "0.30"
    after = shown["Afterwards"]
    assert "The parent's context is unchanged" in after
    assert after.count("completed, child of plan-refactor") == 2
