"""The atomic unit of context (rulings M6, M8, F1)."""

import copy
import hashlib
import pickle
import threading
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from ulid import ULID

from acms_adapters.models import ContextFragment, FragmentProvenance, content_hash
from acms_adapters.models.base import changed
from acms_adapters.models.estimate import estimate_tokens
from acms_adapters.models.fragment import detached, fragment_of


def fragment(**fields: Any) -> ContextFragment:
    return ContextFragment(**{"uko_node": "project://app/a.py", "content": "text", **fields})


class TestFields:
    def test_only_node_and_content_are_required(self) -> None:
        """D4-5, D4-13."""
        made = fragment()
        assert (made.detail_depth, made.relevance_score, made.tier) == (9, 0.5, "warm")
        assert made.metadata == {}
        assert made.provenance == FragmentProvenance(resource_uri="project://app/a.py")
        assert made.created_at.tzinfo is UTC

    def test_the_documented_construction_works(self) -> None:
        """D4-6."""
        made = ContextFragment(
            uko_node="project://myapp/src/main.py",
            content="def main(): ...",
            detail_depth=3,
            token_count=100,
            relevance_score=0.9,
            tier="hot",
            provenance=FragmentProvenance(
                resource_uri="project://myapp/src/main.py",
                location="line 1-10",
                resource_type="source_file",
            ),
        )
        assert made.token_count == 100
        assert made.provenance.resource_type == "source_file"

    def test_ids_are_new_ulids(self) -> None:
        """D4-7."""
        first, second = fragment(), fragment()
        assert first.fragment_id != second.fragment_id
        assert str(ULID.from_str(first.fragment_id)) == first.fragment_id

    def test_a_count_left_out_is_an_estimate(self) -> None:
        text = "def main():\n    return 42\n"
        assert fragment(content=text).token_count == estimate_tokens(text)
        assert fragment(content=text, token_count=0).token_count == 0

    @pytest.mark.parametrize(
        ("field", "values"),
        [
            ("detail_depth", [0, 9]),
            ("token_count", [0, 10**9]),
            ("relevance_score", [0.0, 1.0, 0, 1]),
            ("tier", ["hot", "warm", "cold"]),
            ("content", ["", "x" * 1_000_000]),
        ],
    )
    def test_the_ends_of_a_range_belong_to_it(self, field: str, values: list[Any]) -> None:
        """D4-8, D4-9, D4-10, D4-11."""
        for value in values:
            assert getattr(fragment(**{field: value}), field) == value

    @pytest.mark.parametrize(
        ("field", "values"),
        [
            ("uko_node", ["", None, 7]),
            ("fragment_id", ["", None]),
            ("detail_depth", [-1, 10, 2.5, None]),
            ("token_count", [-1, -100, "-1", 1.5, None, float("nan")]),
            ("relevance_score", [-0.01, 1.01, float("nan"), float("inf"), None]),
            ("tier", ["HOT", "", "lukewarm", None]),
            ("content", ["x" * 1_000_001, None, 7]),
            ("metadata", [None, [], {7: "x"}, {str(i): i for i in range(65)}]),
            ("provenance", [None, "project://app", {"resource_uri": ""}]),
            ("created_at", ["yesterday", None]),
            ("unknown", [1]),
        ],
    )
    def test_m6_a_value_outside_its_range_is_refused(self, field: str, values: list[Any]) -> None:
        """D4-8, D4-9, D4-10, D4-11, D4-12."""
        for value in values:
            with pytest.raises(ValueError, match=field):
                fragment(**{field: value})

    def test_m6_64_entries_of_metadata_are_accepted(self) -> None:
        """D4-12."""
        assert len(fragment(metadata={str(i): i for i in range(64)}).metadata) == 64

    def test_a_fragment_cannot_be_changed(self) -> None:
        with pytest.raises(ValueError, match="frozen"):
            fragment().content = "other"  # type: ignore[misc]


class TestProvenance:
    def test_only_the_resource_is_required(self) -> None:
        made = FragmentProvenance(resource_uri="r")
        assert (made.location, made.resource_type, made.strategy) == ("", "", None)
        assert (made.score, made.merged) == (None, ())

    def test_a_dict_is_accepted(self) -> None:
        made = fragment(provenance={"resource_uri": "r", "location": "lines 1-2"})
        assert made.provenance == FragmentProvenance(resource_uri="r", location="lines 1-2")

    @pytest.mark.parametrize("fields", [{}, {"resource_uri": ""}, {"resource_uri": "r", "line": 1}])
    def test_what_is_no_provenance_is_refused(self, fields: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="FragmentProvenance"):
            FragmentProvenance(**fields)


class TestTimes:
    def test_m8_a_naive_time_is_utc(self) -> None:
        made = fragment(created_at=datetime(2024, 4, 19, 14, 30))
        assert made.created_at == datetime(2024, 4, 19, 14, 30, tzinfo=UTC)

    def test_m8_other_zones_become_utc_and_can_be_compared(self) -> None:
        """D4-13."""
        eastern = timezone(timedelta(hours=-5))
        made = fragment(created_at=datetime(2024, 4, 19, 9, 30, tzinfo=eastern))
        naive = fragment(created_at=datetime(2024, 4, 19, 14, 29))
        assert made.created_at == datetime(2024, 4, 19, 14, 30, tzinfo=UTC)
        assert made.created_at.tzinfo is UTC
        assert sorted([made, naive], key=lambda f: f.created_at) == [naive, made]

    def test_a_moment_that_utc_cannot_tell_is_refused(self) -> None:
        early = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))
        with pytest.raises(ValueError, match="years 1 to 9999"):
            fragment(created_at=early)


class TestText:
    def test_half_a_surrogate_pair_is_repaired_wherever_it_stands(self) -> None:
        made = fragment(
            uko_node="n\udc00",
            content="x\ud83d",
            metadata={"k\ud83d": ["v\ud83d", {"deep": ("\udfff",)}]},
            provenance=FragmentProvenance(resource_uri="r\ud83d", location="l\ud83d"),
        )
        assert made.content == "x\ufffd"
        assert made.metadata == {"k\ufffd": ["v\ufffd", {"deep": ("\ufffd",)}]}
        made.model_dump_json().encode("utf-8")
        assert made.content_hash == hashlib.sha256("x\ufffd".encode()).hexdigest()

    def test_whole_pairs_and_other_text_stay_as_they_are(self) -> None:
        for text in ("😀", "低头思故乡", "café", "cafe\u0301", "\x00", "\ufeffx"):
            assert fragment(content=text).content == text

    def test_two_halves_that_meet_become_the_character_they_mean(self) -> None:
        assert fragment(content="\ud83d\ude00").content == "😀"

    def test_f1_line_ends_do_not_change_the_hash(self) -> None:
        keys = {fragment(content=text).key for text in ("a\nb\n", "a\r\nb\r\n", "a\rb\r")}
        assert keys == {("project://app/a.py", content_hash("a\nb\n"))}
        assert content_hash("a\nb") == hashlib.sha256(b"a\nb").hexdigest()
        assert content_hash("a\n\nb") != content_hash("a\nb")

    @given(st.text(st.characters(exclude_categories=[]), max_size=50))
    def test_whatever_the_text_it_can_be_hashed_and_encoded(self, text: str) -> None:
        made = fragment(content=text, metadata={"t": text})
        assert len(made.content_hash) == 64
        assert ContextFragment.model_validate_json(made.model_dump_json()) == made


class TestMetadata:
    def test_it_is_copied_on_the_way_in(self) -> None:
        tags = ["x"]
        given_metadata = {"tags": tags, "deep": {"a": [1]}}
        made = fragment(metadata=given_metadata)
        tags.append("y")
        given_metadata["deep"]["a"].append(2)
        assert made.metadata == {"tags": ["x"], "deep": {"a": [1]}}

    def test_a_detached_fragment_is_equal_and_shares_nothing(self) -> None:
        made = fragment(metadata={"tags": ["x"]})
        apart = detached(made)
        assert apart == made
        apart.metadata["tags"].append("y")
        assert made.metadata == {"tags": ["x"]}

    def test_what_cannot_be_copied_is_kept_as_it_is(self) -> None:
        lock = threading.Lock()
        assert fragment(metadata={"lock": lock}).metadata["lock"] is lock

    def test_what_json_does_not_know_is_written_as_text(self) -> None:
        made = fragment(
            metadata={
                "when": datetime(2024, 1, 1),
                "raw": b"\xff",
                "set": {1},
                "odd": threading.Lock(),
                "tuple": (1, 2),
                "nan": float("nan"),
            }
        )
        loaded = ContextFragment.model_validate_json(made.model_dump_json()).metadata
        assert loaded["when"] == "2024-01-01T00:00:00"
        assert loaded["tuple"] == [1, 2]
        assert loaded["nan"] != loaded["nan"]
        assert "lock" in loaded["odd"]

    def test_values_keep_their_types(self) -> None:
        values = {"i": 1, "f": 1.0, "b": True, "n": None, "s": "x", "l": [1, "a"], "d": {"k": []}}
        made = fragment(metadata=values)
        assert made.metadata == values
        assert [type(v) for v in made.metadata.values()] == [type(v) for v in values.values()]
        assert ContextFragment.model_validate_json(made.model_dump_json()).metadata == values


def test_a_fragment_survives_json_pickle_and_copying() -> None:
    made = fragment(
        metadata={"a": [1, {"b": None}]},
        provenance=FragmentProvenance(
            resource_uri="r",
            strategy="arce",
            score=0.25,
            merged=(FragmentProvenance(resource_uri="s"),),
        ),
        created_at=datetime(2024, 4, 19, 14, 30, 1, 5),
    )
    assert ContextFragment.model_validate_json(made.model_dump_json()) == made
    assert ContextFragment(**made.model_dump()) == made
    assert pickle.loads(pickle.dumps(made)) == made
    assert copy.deepcopy(made) == made


class TestFragmentOf:
    """Fragments of values that were checked elsewhere."""

    VALUES: ClassVar[dict[str, Any]] = {
        "uko_node": "project://p/\ud800",
        "content": "text \udfff",
        "detail_depth": 4,
        "token_count": 2,
        "relevance_score": 0.25,
        "tier": "hot",
        "provenance": FragmentProvenance(resource_uri="project://p"),
        "metadata": {"a": ["b"]},
        "created_at": datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=2))),
    }

    def test_they_are_those_of_the_constructor(self) -> None:
        quick, checked = fragment_of(**self.VALUES), ContextFragment(**self.VALUES)
        assert quick.model_dump(exclude={"fragment_id"}) == checked.model_dump(
            exclude={"fragment_id"}
        )
        assert list(vars(quick)) == list(vars(checked))
        assert quick.model_fields_set == checked.model_fields_set
        assert quick.fragment_id != fragment_of(**self.VALUES).fragment_id

    def test_they_share_no_metadata(self) -> None:
        fragment_of(**self.VALUES).metadata["a"].append("c")
        assert self.VALUES["metadata"] == {"a": ["b"]}

    @pytest.mark.parametrize(
        "change",
        [{"content": "x" * 1_000_001}, {"metadata": {str(n): n for n in range(65)}}],
        ids=["text", "metadata"],
    )
    def test_they_have_the_same_limits(self, change: dict[str, Any]) -> None:
        """M6."""
        with pytest.raises(ValidationError):
            fragment_of(**{**self.VALUES, **change})

    def test_a_changed_one_is_a_copy_as_pydantic_makes_it(self) -> None:
        before = ContextFragment(uko_node="n", content="text")
        after = changed(before, relevance_score=0.75)
        assert after == before.model_copy(update={"relevance_score": 0.75})
        assert after.model_fields_set == {"uko_node", "content", "relevance_score"}
        assert before.relevance_score == 0.5
