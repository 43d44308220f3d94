"""Slowing clients down."""

import time


class TokenBucket:
    """Lets a client burst, and refills at a steady rate."""

    def __init__(self, size: int, per_second: float) -> None:
        self.size = size
        self.per_second = per_second
        self.tokens = float(size)
        self.refilled_at = time.monotonic()

    def acquire(self) -> bool:
        """Take a token if there is one; False means that the client has to wait."""
        self.refill()
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True

    def refill(self) -> None:
        """Add the tokens that have come in since the last time."""
        now = time.monotonic()
        gained = (now - self.refilled_at) * self.per_second
        self.tokens = min(self.size, self.tokens + gained)
        self.refilled_at = now
