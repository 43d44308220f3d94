"""One greedy run of the packer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from acms_adapters.models import ContextFragment, LedgerEntry, LeftOut, Tier
from acms_adapters.pipeline.containment import PackedTexts
from acms_adapters.pipeline.departures import Departures
from acms_adapters.pipeline.packing_rules import PackingRules
from acms_adapters.pipeline.pricing import Pricing
from acms_adapters.pipeline.renderings import LowerRenderings

_UNBOUNDED = 1 << 60


class _Miss(NamedTuple):
    missing: int
    room: int


class Filling:
    """A budget while it is being filled.

    Args:
        fragments: The candidates.
        order: Their places in packing order.
        available: Tokens there are.
        rules: What binds beside them.
        pricing: What fragments cost.
        lower: What may be read in place of a fragment that does not fit.
    """

    def __init__(
        self,
        fragments: Sequence[ContextFragment],
        order: Sequence[int],
        available: int,
        *,
        rules: PackingRules,
        pricing: Pricing,
        lower: LowerRenderings,
    ) -> None:
        self.departures = Departures(fragments, pricing.separator)
        self.drawn: set[int] = set()
        self._packed: dict[int, ContextFragment] = {}
        self._costs: dict[int, int] = {}
        self._waiting: list[int] | None = [] if rules.fallback_last else None
        self._fragments = fragments
        self._order = order
        self._texts = PackedTexts(self._packed)
        self._rules = rules
        self._pricing = pricing
        self._lower = lower
        # every price includes a separator, but there is one fewer than fragments
        self._available = available
        self._left = available + pricing.separator
        self._tiers = {t: bound + pricing.separator for t, bound in rules.tier_budget.items()}
        # the least that is missing is looked for only where prices are not known beforehand
        self._least_missing = _UNBOUNDED if pricing.counts else 0
        # below that nothing more can be admitted, unless it took the place of what lies in it
        self._smallest = -_UNBOUNDED if lower or pricing.counts else _smallest(fragments)

    @property
    def kept(self) -> tuple[ContextFragment, ...]:
        """What has been admitted, in packing order."""
        return tuple(self._packed.values())

    @property
    def spent(self) -> int:
        """Tokens that what was admitted takes by its prices, as one text."""
        return max(0, self._available - self._left)

    @property
    def least_missing(self) -> int:
        """Tokens that would have admitted one more; only with a counter."""
        return self._least_missing

    def fill(self) -> None:
        """Admit what fits, in order; what does not is passed over (ruling F3)."""
        limit = self._rules.max_fragments
        number, end = 0, len(self._order)
        while number < end:
            if limit is not None and len(self._packed) >= limit:
                self.departures.refuse(self._order[number:], limit)
                break
            if self._left < self._smallest and (apart := self._apart(number)):
                self.departures.pass_over(self._order[number : number + apart], self._left)
                number += apart
            else:
                self._consider(number)
                number += 1
        self._fall_back()

    def _apart(self, number: int) -> int:
        """How many candidates from there on are of resources of which nothing is packed."""
        order, resources, packed = self._order, self._resources, self._texts.resources
        following = range(number, len(order))
        return next((n for n in following if resources[order[n]] in packed), len(order)) - number

    @cached_property
    def _resources(self) -> Sequence[str]:
        # looked up in the order in which candidates lie in memory; by rank it takes five times
        # as long for 100,000
        return [fragment.provenance.resource_uri for fragment in self._fragments]

    def _fall_back(self) -> None:
        """Admit lower renderings of what waited for the rest, in order."""
        waiting, self._waiting = self._waiting, None
        limit = self._rules.max_fragments
        for number in waiting or ():
            if limit is not None and len(self._packed) >= limit:
                self.departures.refuse((self._order[number],), limit)
            else:
                self._consider(number)

    def drop_weakest(self, *, over: int) -> None:
        """Take out what was admitted last, because the finished text is too long by `over`."""
        number, fragment = self._packed.popitem()
        cost = self._costs.pop(number)
        self._texts.remove(number, fragment)
        self._spend(fragment.tier, -cost)
        self._leave_out(fragment, _Miss(over, cost - over))

    def _consider(self, number: int) -> None:
        fragment = self._fragments[self._order[number]]
        outer, inner = self._texts.compare(fragment)
        if outer is not None:
            self._leave_contained(fragment, outer)
            return
        miss = self._admit(number, fragment, inner)
        if miss is None:
            return
        # when the budget is full, renderings need not be fetched any more: none could be admitted,
        # unless it took the place of what lies in it
        if self._lower and self._waiting is not None:
            self._waiting.append(number)
        elif self._lower and (inner or miss.room >= self._rules.min_fragment_tokens):
            self._consider_lower(number, fragment, miss)
        elif miss.missing == fragment.token_count + self._pricing.separator - miss.room:
            self.departures.pass_over((self._order[number],), miss.room)
        else:
            self._leave_out(fragment, miss)

    def _consider_lower(self, number: int, fragment: ContextFragment, own: _Miss) -> None:
        least = own
        for lower, stands_alone in self._lower.of(fragment):
            outer, inner = self._texts.compare(lower)
            if outer is not None:
                self._leave_contained(fragment, outer)
                return
            miss = self._admit(number, lower, inner)
            if miss is None:
                if stands_alone:
                    self.drawn.add(id(lower))
                    self._leave_out(fragment, own, other=lower.fragment_id)
                return
            least = min(least, miss)
        self._leave_out(fragment, least)

    def _leave_contained(self, fragment: ContextFragment, outer: int) -> None:
        holder = self._packed[outer].fragment_id
        self.departures.write(LedgerEntry.of(fragment, LeftOut.CONTAINED, other=holder))

    def _admit(self, number: int, option: ContextFragment, inner: Collection[int]) -> _Miss | None:
        """Admit a fragment in place of all that lies in it; by how much it misses if it cannot."""
        room = self._room(option.tier, inner) if inner or self._tiers else self._left
        cost = self._pricing.price(option, room)
        if cost > room:
            return self._missed(option, cost, room)
        if inner:  # it is worth at least what stands in it
            within = (self._packed[replaced].relevance_score for replaced in inner)
            relevance = max(option.relevance_score, *within)
            option = option.model_copy(update={"relevance_score": relevance})
        for replaced in inner:
            self._replace(replaced, by=option)
        self._packed[number], self._costs[number] = option, cost
        self._texts.add(number, option)
        self._spend(option.tier, cost)
        return None

    def _missed(self, option: ContextFragment, cost: int, room: int) -> _Miss:
        # Texts that cannot fit are not counted. The ledger says how many tokens more would admit
        # the next one, so only what might be the next one is priced exactly.
        if cost - room < self._least_missing:
            cost = self._pricing.price(option, _UNBOUNDED)
            self._least_missing = min(self._least_missing, cost - room)
        return _Miss(cost - room, room)

    def _room(self, tier: Tier, freed: Iterable[int]) -> int:
        room, share = self._left, self._tiers.get(tier)
        for number in freed:
            cost = self._costs[number]
            room += cost
            if share is not None and self._packed[number].tier == tier:
                share += cost
        return room if share is None else min(room, share)

    def _replace(self, number: int, *, by: ContextFragment) -> None:
        fragment, cost = self._packed.pop(number), self._costs.pop(number)
        self._texts.remove(number, fragment)
        self._spend(fragment.tier, -cost)
        self.departures.write(LedgerEntry.of(fragment, LeftOut.CONTAINED, other=by.fragment_id))

    def _spend(self, tier: Tier, cost: int) -> None:
        self._left -= cost
        if tier in self._tiers:
            self._tiers[tier] -= cost

    def _leave_out(
        self, fragment: ContextFragment, miss: _Miss, *, other: str | None = None
    ) -> None:
        self.departures.write(self.departures.over_budget(fragment, *miss, other=other))


def _smallest(fragments: Iterable[ContextFragment]) -> int:
    return min([fragment.token_count for fragment in fragments], default=0)
