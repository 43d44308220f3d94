"""Who stands in for a strategy that cannot serve (ruling S10)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from acms_adapters.protocols import ContextStrategy


class FallbackChain:
    """Finds stand-ins during one request; no strategy takes part twice.

    Args:
        chain: Names, best first.
        registered: Every strategy there is by its name, enabled or not.
        usable: Whether a strategy's backends are there and it is not switched off.
    """

    def __init__(
        self,
        chain: Sequence[str],
        *,
        registered: Mapping[str, ContextStrategy],
        usable: Callable[[ContextStrategy], bool],
    ) -> None:
        self._chain = tuple(chain)
        self._registered = registered
        self._usable = usable
        self._serving: dict[str, bool] = {}

    def enter(self, name: str) -> None:
        """Note that a strategy takes part."""
        self._serving[name] = True

    def leave(self, name: str) -> None:
        """Note that it does not after all, and might stand in for another one."""
        self._serving.pop(name, None)

    def drop(self, name: str) -> None:
        """Note that a strategy cannot serve."""
        self._serving[name] = False

    def stand_in(self, name: str) -> ContextStrategy | None:
        """Drop a strategy, and give the one that takes part in its place.

        Returns:
            None when there is none, or when the one that would takes part already.
        """
        self.drop(name)
        for member in self._below(name):
            serving = self._serving.get(member.name)
            if serving:
                return None
            if serving is None and self._usable(member):
                self.enter(member.name)
                return member
        return None

    def _below(self, name: str) -> Iterator[ContextStrategy]:
        """Members of the chain behind a strategy, or of lower quality than one outside it."""
        members = (self._registered[n] for n in self._chain if n in self._registered)
        if name in self._chain:
            behind = set(self._chain[self._chain.index(name) + 1 :])
            return (member for member in members if member.name in behind)
        outside = self._registered.get(name)
        if outside is None:
            return iter(())
        quality = outside.capabilities.quality_score
        return (member for member in members if member.capabilities.quality_score < quality)
