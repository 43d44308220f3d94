"""Where LangChain keeps what a parent hands down."""

INHERITED_KEY = "acms_inherited"
"""Key of an agent's state, and of a chain's configuration, for what its parent hands down."""
