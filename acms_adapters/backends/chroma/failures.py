"""What Chroma raises, in this library's errors and with what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from acms_adapters.errors import ACMSError, BackendError, EmbedderMismatchError, StoreError

_NETWORK = ("httpx", "httpcore")
_DAMAGE = (
    "hnsw segment",
    "finding id",
    "getting embedding",
    "malformed",
    "not a database",
    "no such table",
)


class DamagedVectorsError(BackendError):
    """What is kept of vectors cannot be read, because a process ended while it wrote them."""

    @classmethod
    def of(cls, place: object, why: str) -> DamagedVectorsError:
        """With what to do about it."""
        return cls(
            f"the vectors in {str(place)!r} are damaged ({why}): open the store once to write, "
            "which makes them anew from its texts"
        )


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Turn whatever Chroma raises inside into a `BackendError`.

    Args:
        place: Where the vectors are, for people.
    """
    try:
        yield
    except ACMSError:
        raise
    except Exception as error:  # Chroma raises ValueError, TypeError, its own and its client's
        raise _translate(error, place) from error


def is_damage(error: Exception) -> bool:
    """Whether an error of Chroma's tells that its files cannot be read."""
    return any(sign in str(error) for sign in _DAMAGE)


def _translate(error: Exception, place: str) -> BackendError:
    kind, text = type(error).__name__, str(error)
    if kind == "NotFoundError":
        return StoreError(f"the vectors in {place} were deleted: index again")
    if type(error).__module__.partition(".")[0] in _NETWORK or "Could not connect" in text:
        return BackendError(
            f"no Chroma server answers for {place}: start it with 'chroma run', or check host and "
            f"port ({text})"
        )
    if "dimension" in text:
        return EmbedderMismatchError(
            f"vectors in {place} have another size: use the embedder that made them, or index "
            f"again ({text})"
        )
    if is_damage(error):
        return DamagedVectorsError.of(place, text)
    return BackendError(f"Chroma failed in {place}: {text or kind}")
