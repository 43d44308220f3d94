"""What a fragment costs in the text that is read (ruling S4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, get_args

from acms_adapters.models import ContextFragment, Layout
from acms_adapters.models.estimate import estimate_tokens
from acms_adapters.models.layout import SEPARATOR, header, render, render_fragment
from acms_adapters.tokens import token_counter

Arrange = Callable[[tuple[ContextFragment, ...]], Iterable[ContextFragment]]


class Pricing:
    """Prices fragments and counts finished texts.

    Without a counter a fragment costs its declared tokens and nothing is counted. With one it
    costs its header and separator as well; its text is counted only when `verifies` is set, and
    the larger number is its price.

    Args:
        counter: Counts tokens; anything that `token_counter` reads.
        layout: How the text is rendered.
        arrange: Puts fragments in the order in which they will be read.
        verifies: Whether declared counts are doubted.
    """

    def __init__(
        self,
        counter: Any = None,
        *,
        layout: Layout = "payload",
        arrange: Arrange = tuple,
        verifies: bool = False,
    ) -> None:
        if layout not in get_args(Layout):
            raise ValueError(
                f"layout is {' or '.join(map(repr, get_args(Layout)))}, not {layout!r}"
            )
        self._counter = None if counter is None else token_counter(counter)
        self._layout: Layout = layout
        self._arrange = arrange
        self._verifies = verifies
        self.separator = self._counter.count(SEPARATOR) if self._counter is not None else 0
        """Tokens between two fragments; every price includes it once."""

    @property
    def counts(self) -> bool:
        """Whether texts are counted at all."""
        return self._counter is not None

    def count(self, text: str) -> int:
        """Tokens of a text by itself; an estimate without a counter."""
        return estimate_tokens(text) if self._counter is None else self._counter.count(text)

    def verifying(self) -> Pricing:
        """The same prices with every text counted."""
        return Pricing(self._counter, layout=self._layout, arrange=self._arrange, verifies=True)

    def price(self, fragment: ContextFragment, room: int) -> int:
        """Tokens that a fragment takes, exact as far as it decides whether it fits into `room`."""
        cost = fragment.token_count + self.separator
        if self._counter is None or cost > room:
            return cost
        if self._layout == "payload":
            cost += self._counter.count(header(fragment) + "\n")
        if self._verifies and cost <= room:
            text = render_fragment(fragment, self._layout)
            cost = max(cost, self._counter.count(text) + self.separator)
        return cost

    def rendered(self, fragments: tuple[ContextFragment, ...]) -> int:
        """Tokens of the finished text, counted as one string."""
        if self._counter is None:
            return sum(fragment.token_count for fragment in fragments)
        if not fragments:
            return 0
        return self._counter.count(render(self._arrange(fragments), layout=self._layout))
