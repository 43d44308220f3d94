"""Folding fragments that hold the same text of the same node into one (ruling F1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from acms_adapters.models import ContextFragment, FragmentProvenance, LedgerEntry, LeftOut
from acms_adapters.models.fragment import as_fragments, line_feeds
from acms_adapters.pipeline.ranking import preference, provenance_key, without

DedupStrategy = Literal["highest_relevance", "first_seen", "most_recent"]


class FragmentDeduplicator:
    """Keeps one fragment of each node and text.

    Args:
        strategy: Which one: `highest_relevance` (then hotter, newer), `first_seen` or
            `most_recent`.
        merge_provenance: Whether the one that stays remembers where the others came from.
    """

    def __init__(
        self, *, strategy: DedupStrategy = "highest_relevance", merge_provenance: bool = True
    ) -> None:
        self._strategy = _checked(strategy)
        self._merge_provenance = merge_provenance

    def deduplicate(
        self, fragments: Iterable[ContextFragment], strategy: DedupStrategy | None = None
    ) -> list[ContextFragment]:
        """Unique fragments, in the order in which their texts first appeared."""
        chosen = deduplicate(
            as_fragments(fragments),
            self._strategy if strategy is None else strategy,
            merge_provenance=self._merge_provenance,
        )
        return list(chosen.kept)


@dataclass(frozen=True, slots=True)
class Deduplication:
    """One fragment for each node and text.

    Attributes:
        kept: The ones that stay, in the order in which their texts first appeared.
        duplicates: The others, each with the id of the one that stays in its place.
    """

    kept: tuple[ContextFragment, ...]
    duplicates: tuple[tuple[ContextFragment, str], ...] = ()

    @property
    def left_out(self) -> tuple[LedgerEntry, ...]:
        """Entries for the duplicates, made anew each time."""
        return tuple(
            LedgerEntry.of(fragment, LeftOut.DUPLICATE, other=kept)
            for fragment, kept in self.duplicates
        )


def deduplicate(
    fragments: Sequence[ContextFragment],
    strategy: DedupStrategy = "highest_relevance",
    *,
    merge_provenance: bool = True,
) -> Deduplication:
    """Keep one fragment of each node and normalised text.

    Raises:
        ValueError: `strategy` is unknown.
    """
    choose = _CHOICES[_checked(strategy)]
    nodes = [fragment.uko_node for fragment in fragments]
    if len(set(nodes)) == len(nodes):
        return Deduplication(tuple(fragments))
    first, repeated = _grouped(fragments, Counter(nodes))
    duplicates: list[tuple[ContextFragment, str]] = []
    for key, group in repeated.items():
        kept = choose(group)
        duplicates.extend((other, kept.fragment_id) for other in without(group, kept))
        first[key] = _merged(kept, group) if merge_provenance else kept
    return Deduplication(tuple(first.values()), tuple(duplicates))


_Key = tuple[str, str]


def _grouped(
    fragments: Iterable[ContextFragment], nodes: Mapping[str, int]
) -> tuple[dict[_Key, ContextFragment], dict[_Key, list[ContextFragment]]]:
    first: dict[_Key, ContextFragment] = {}
    repeated: dict[_Key, list[ContextFragment]] = {}
    for fragment in fragments:
        node = fragment.uko_node
        # a node that occurs once has no duplicate; a text says as much as its hash
        key = (node, line_feeds(fragment.content) if nodes[node] > 1 else "")
        if key not in first:
            first[key] = fragment
        elif key in repeated:
            repeated[key].append(fragment)
        else:
            repeated[key] = [first[key], fragment]
    return first, repeated


def _merged(kept: ContextFragment, group: Iterable[ContextFragment]) -> ContextFragment:
    found = {
        provenance_key(single): single
        for fragment in group
        for single in _flat(fragment.provenance)
    }
    found.pop(provenance_key(kept.provenance), None)
    merged = tuple(found[key] for key in sorted(found))
    if merged == kept.provenance.merged:
        return kept
    provenance = kept.provenance.model_copy(update={"merged": merged})
    return kept.model_copy(update={"provenance": provenance})


def _flat(provenance: FragmentProvenance) -> Iterator[FragmentProvenance]:
    yield provenance.model_copy(update={"merged": ()}) if provenance.merged else provenance
    for part in provenance.merged:
        yield from _flat(part)


def _most_relevant(group: Sequence[ContextFragment]) -> ContextFragment:
    best = max(fragment.relevance_score for fragment in group)
    return _preferred([fragment for fragment in group if fragment.relevance_score == best])


def _newest(group: Sequence[ContextFragment]) -> ContextFragment:
    latest = max(fragment.created_at for fragment in group)
    return _preferred([fragment for fragment in group if fragment.created_at == latest])


def _preferred(group: Sequence[ContextFragment]) -> ContextFragment:
    return group[0] if len(group) == 1 else min(group, key=preference)


def _first(group: Sequence[ContextFragment]) -> ContextFragment:
    return group[0]


_CHOICES: dict[Any, Callable[[Sequence[ContextFragment]], ContextFragment]] = {
    "highest_relevance": _most_relevant,
    "first_seen": _first,
    "most_recent": _newest,
}


def _checked(strategy: DedupStrategy) -> DedupStrategy:
    if strategy not in get_args(DedupStrategy):
        names = ", ".join(get_args(DedupStrategy))
        raise ValueError(f"unknown deduplication strategy {strategy!r} (known: {names})")
    return strategy
