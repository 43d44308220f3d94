"""One greedy run of the packer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from acms_adapters.models import ContextFragment, LedgerEntry, LeftOut, Tier
from acms_adapters.pipeline.containment import PackedTexts
from acms_adapters.pipeline.packing_rules import PackingRules
from acms_adapters.pipeline.pricing import Pricing
from acms_adapters.pipeline.ranking import Scored
from acms_adapters.pipeline.renderings import Lower, LowerRenderings

_UNBOUNDED = 1 << 60


class _Miss(NamedTuple):
    cost: int
    room: int

    @property
    def missing(self) -> int:
        return self.cost - self.room


class _Packed(NamedTuple):
    fragment: ContextFragment
    cost: int


class Filling:
    """A budget while it is being filled.

    Args:
        available: Tokens there are.
        rules: What binds beside them.
        pricing: What fragments cost.
        lower: What may be read in place of a fragment that does not fit.
    """

    def __init__(
        self, available: int, *, rules: PackingRules, pricing: Pricing, lower: LowerRenderings
    ) -> None:
        self.left_out: list[LedgerEntry] = []
        self.drawn: set[int] = set()
        self._packed: dict[int, _Packed] = {}
        self._texts = PackedTexts()
        self._rules = rules
        self._pricing = pricing
        self._lower = lower
        # every price includes a separator, but there is one fewer than fragments
        self._left = available + pricing.separator
        self._tiers = {t: bound + pricing.separator for t, bound in rules.tier_budget.items()}
        self._least_missing = _UNBOUNDED

    @property
    def kept(self) -> tuple[ContextFragment, ...]:
        """What has been admitted, in packing order."""
        return tuple(packed.fragment for packed in self._packed.values())

    def fill(self, ranked: Iterable[Scored]) -> None:
        """Admit what fits, in this order; what does not is passed over (ruling F3)."""
        limit = self._rules.max_fragments
        for number, (fragment, _) in enumerate(ranked):
            if limit is not None and len(self._packed) >= limit:
                self.left_out.append(
                    LedgerEntry.of(fragment, LeftOut.BEYOND_LIMIT, threshold=limit)
                )
            else:
                self._consider(number, fragment)

    def drop_weakest(self, *, over: int) -> None:
        """Take out what was admitted last, because the finished text is too long by `over`."""
        number, (fragment, cost) = self._packed.popitem()
        self._texts.remove(number, fragment)
        self._leave_out(fragment, _Miss(cost, cost - over))

    def _consider(self, number: int, fragment: ContextFragment) -> None:
        if self._is_contained(fragment):
            return
        own = least = self._admit(number, fragment)
        if own is None or least is None:
            return
        for lower in self._options(fragment, own.room):
            if self._is_contained(lower.fragment, instead_of=fragment):
                return
            miss = self._admit(number, lower.fragment)
            if miss is None:
                if lower.stands_alone:
                    self.drawn.add(id(lower.fragment))
                    self._leave_out(fragment, own, other=lower.fragment.fragment_id)
                return
            least = min(least, miss, key=lambda m: m.missing)
        self._leave_out(fragment, least)

    def _options(self, fragment: ContextFragment, room: int) -> Iterator[Lower]:
        # when the budget is full, renderings need not be fetched any more: none could be admitted,
        # unless it took the place of what lies in it
        if self._lower and (
            room >= self._rules.min_fragment_tokens or self._texts.touches(fragment)
        ):
            yield from self._lower.of(fragment)

    def _is_contained(
        self, option: ContextFragment, *, instead_of: ContextFragment | None = None
    ) -> bool:
        outer = self._texts.around(option)
        if outer is None:
            return False
        entry = LedgerEntry.of(
            instead_of or option,
            LeftOut.CONTAINED,
            other=self._packed[outer].fragment.fragment_id,
        )
        self.left_out.append(entry)
        return True

    def _admit(self, number: int, option: ContextFragment) -> _Miss | None:
        """Admit a fragment in place of all that lies in it; by how much it misses if it cannot."""
        inner = self._texts.inside(option)
        room = self._room(option.tier, inner)
        cost = self._pricing.price(option, room)
        if cost > room:
            return self._missed(option, _Miss(cost, room))
        for replaced in inner:
            self._replace(replaced, by=option)
        self._packed[number] = _Packed(option, cost)
        self._texts.add(number, option)
        self._spend(option.tier, cost)
        return None

    def _missed(self, option: ContextFragment, miss: _Miss) -> _Miss:
        # Texts that cannot fit are not counted. The ledger says how many tokens more would admit
        # the next one, so only what might be the next one is priced exactly.
        if self._pricing.counts and miss.missing < self._least_missing:
            miss = _Miss(self._pricing.price(option, _UNBOUNDED), miss.room)
            self._least_missing = min(self._least_missing, miss.missing)
        return miss

    def _room(self, tier: Tier, freed: Iterable[int]) -> int:
        room, share = self._left, self._tiers.get(tier)
        for number in freed:
            fragment, cost = self._packed[number]
            room += cost
            if share is not None and fragment.tier == tier:
                share += cost
        return room if share is None else min(room, share)

    def _replace(self, number: int, *, by: ContextFragment) -> None:
        fragment, cost = self._packed.pop(number)
        self._texts.remove(number, fragment)
        self._spend(fragment.tier, -cost)
        self.left_out.append(LedgerEntry.of(fragment, LeftOut.CONTAINED, other=by.fragment_id))

    def _spend(self, tier: Tier, cost: int) -> None:
        self._left -= cost
        if tier in self._tiers:
            self._tiers[tier] -= cost

    def _leave_out(
        self, fragment: ContextFragment, miss: _Miss, *, other: str | None = None
    ) -> None:
        had = max(0, miss.room - self._pricing.separator)
        self.left_out.append(
            LedgerEntry.of(
                fragment, LeftOut.OVER_BUDGET, other=other, needed=had + miss.missing, had=had
            )
        )
