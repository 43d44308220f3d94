"""Each requirement has a test that names it, and tests name no others."""

import re
import runpy
from collections import Counter, defaultdict
from pathlib import Path

TESTS = Path(__file__).parent
READING = runpy.run_path(str(TESTS / "requirements" / "reading.py"))
REQUIREMENTS = READING["requirements"]()
KNOWN = {requirement.id for requirement in REQUIREMENTS}


def naming() -> dict[str, list[str]]:
    """Tests by the ids that they name."""
    tests = defaultdict(list)
    for requirement, test in READING["named"](TESTS):
        tests[requirement].append(test)
    return tests


def test_each_requirement_is_listed_once_in_its_own_words() -> None:
    assert [one for one, count in Counter(r.id for r in REQUIREMENTS).items() if count > 1] == []
    behaviours = Counter((r.document, r.section, r.behaviour) for r in REQUIREMENTS)
    assert [one for one, count in behaviours.items() if count > 1] == []
    for requirement in REQUIREMENTS:
        assert re.fullmatch(READING["_ID"], requirement.id), requirement
        assert requirement.behaviour.endswith("."), requirement
    assert len(REQUIREMENTS) > 400


def test_every_ruling_is_there_under_its_own_id() -> None:
    counts = {"M": 10, "S": 14, "F": 11, "K": 4, "B": 9, "T": 3, "A": 6, "I": 3, "C": 3}
    rulings = {f"{kind}{n}" for kind, count in counts.items() for n in range(1, count + 1)}
    assert rulings <= KNOWN


def test_every_requirement_has_a_test_that_names_it() -> None:
    assert sorted(KNOWN - set(naming())) == []


def test_no_test_names_what_is_no_requirement() -> None:
    assert {one: tests for one, tests in naming().items() if one not in KNOWN} == {}


def test_ids_are_read_from_names_and_docstrings_of_tests_and_their_classes(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(
        '"""S1 and S2 are said of the module and prove nothing."""\n'
        "class TestGroup:\n"
        '    """M10.used: of the class."""\n'
        "    async def test_s3_of_the_name_f10(self):\n"
        '        """D4-17, E4-slow-query and K4."""\n'
        "def helper_s4():\n"
        '    """S5."""\n'
        "def test_utf8_and_b64_of_v1(): ...\n"
    )
    assert sorted(set(READING["named"](tmp_path))) == [
        ("B64", "test_some.py::test_utf8_and_b64_of_v1"),
        ("D4-17", "test_some.py::test_s3_of_the_name_f10"),
        ("E4-slow-query", "test_some.py::test_s3_of_the_name_f10"),
        ("F10", "test_some.py::test_s3_of_the_name_f10"),
        ("K4", "test_some.py::test_s3_of_the_name_f10"),
        ("M10.used", "test_some.py::TestGroup"),
        ("S3", "test_some.py::test_s3_of_the_name_f10"),
    ]
