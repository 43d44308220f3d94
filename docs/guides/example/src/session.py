"""Who is logged in."""

from limits import TokenBucket

ATTEMPTS = TokenBucket(size=5, per_second=0.1)


def login(store: dict[str, str], user: str, password: str) -> str | None:
    """Open a session, unless the password is wrong or there were too many attempts."""
    if not ATTEMPTS.acquire() or store.get(user) != password:
        return None
    return f"session-of-{user}"


def logout(sessions: set[str], session: str) -> None:
    """Close a session; closing it twice is fine."""
    sessions.discard(session)
