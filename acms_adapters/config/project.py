"""Writing a project's settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acms_adapters.config.documents import Document, read_file
from acms_adapters.config.facades import dotted
from acms_adapters.config.settings import PROJECT_FILE, Settings, global_config_file
from acms_adapters.errors import ConfigError, MissingExtraError
from acms_adapters.models import new_id

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


def set_project(
    project_dir: str | Path,
    values: Mapping[str, Any],
    *,
    global_file: str | Path | None = None,
) -> Path:
    """Set keys in a project's ``.acms/config.toml``; everything else in it stays as it is.

    Args:
        project_dir: The project's folder.
        values: Key to value, such as ``{"enabled": ["arce"], "skeleton_ratio": 0.5}``; None
            takes a key out, so that the global file or the default holds again.
        global_file: The file that the project's lies over; left out, `global_config_file()`.

    Returns:
        The file.

    Raises:
        ConfigError: An unknown key, a value out of its range, or a file that cannot be read;
            nothing was written.
        MissingExtraError: tomlkit is not installed.
    """
    file = Path(project_dir) / PROJECT_FILE
    document = _read(file)
    for key, value in values.items():
        _set(document, dotted(key), value, source=str(file))
    own = read_file(Path(global_file or global_config_file()))
    project = Document(document.unwrap(), str(file))
    Settings.from_documents([own, project] if own else [project])
    _write(file, document.as_string())
    return file


def _read(file: Path) -> TOMLDocument:
    try:
        import tomlkit
        from tomlkit.exceptions import TOMLKitError
    except ImportError as error:
        raise MissingExtraError(
            "writing a project's settings", extra="cli", package="tomlkit"
        ) from error
    try:
        return tomlkit.parse(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return tomlkit.document()
    except (OSError, UnicodeDecodeError, TOMLKitError) as error:
        raise ConfigError(f"{file}: cannot be read as TOML: {error}") from error


def _set(document: TOMLDocument, key: str, value: Any, *, source: str) -> None:
    *tables, name = key.split(".")
    table: Any = document
    for part in tables:
        if part not in table:
            table[part] = {}
        table = table[part]
        if not isinstance(table, Mapping):
            raise ConfigError(f"{source}: {part} must be a table, not {table!r}")
    if value is None:
        table.pop(name, None)
    else:
        table[name] = list(value) if isinstance(value, tuple) else value


def _write(file: Path, text: str) -> None:
    # beside the file and then moved over it, so that a reader never meets half of it
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f"{file.name}.{new_id()}")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        os.replace(beside, file)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
