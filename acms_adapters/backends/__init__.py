"""Backends that come along: SQLite for text, graph and time, Chroma or memory for vectors."""
