"""From a file to a resource."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import PurePosixPath

from acms_adapters.indexing.decode import UnreadableTextError, decode
from acms_adapters.indexing.kinds import MARKDOWN, PYTHON, ModuleNames, resource_type
from acms_adapters.indexing.markdown import render_markdown
from acms_adapters.indexing.plain import render_plain
from acms_adapters.indexing.project import parent_of
from acms_adapters.indexing.python import render_python
from acms_adapters.indexing.report import Skip
from acms_adapters.indexing.scan import FoundFile
from acms_adapters.indexing.source import Rendered, SourceText, file_uri
from acms_adapters.models import IndexedResource

FORMAT = "file-1:"
"""How every file's hash begins; another one makes all files be rendered anew."""


def is_file(content_hash: str) -> bool:
    """Whether a resource of this hash was made of a file."""
    return content_hash.startswith("file-")


class FileReader:
    """Turns the files of one project into resources."""

    def __init__(self, project: str) -> None:
        self.project = project
        self._modules = ModuleNames()

    def uri(self, found: FoundFile) -> str:
        """URI of a file."""
        return file_uri(self.project, found.path)

    def content_hash(self, found: FoundFile, data: bytes) -> str:
        """Hash of everything a file's nodes follow from."""
        digest = hashlib.sha256(data)
        digest.update(f"\0{self._module(found)}".encode("utf-8", "surrogatepass"))
        return FORMAT + digest.hexdigest()

    def read(self, found: FoundFile, data: bytes) -> tuple[IndexedResource, str] | Skip:
        """A file's resource and a note on it, or why there is none."""
        suffix = PurePosixPath(found.path).suffix.lower()
        try:
            text = decode(data, python=suffix in PYTHON)
        except UnreadableTextError as error:
            return Skip(found.path, str(error))
        if not text.strip():
            return Skip(found.path, "empty")
        rendered = self._render(self._source(found, text), suffix)
        resource = IndexedResource(
            resource_uri=self.uri(found),
            content_hash=self.content_hash(found, data),
            nodes=rendered.nodes,
            edges=rendered.edges,
            references=rendered.references,
        )
        return resource, rendered.note

    def _render(self, source: SourceText, suffix: str) -> Rendered:
        if suffix in PYTHON:
            return render_python(source)
        return render_markdown(source) if suffix in MARKDOWN else render_plain(source)

    def _source(self, found: FoundFile, text: str) -> SourceText:
        module, is_package = self._module(found)
        return SourceText(
            project=self.project,
            path=found.path,
            text=text,
            parent=parent_of(self.uri(found), self.project),
            resource_type=resource_type(found.path),
            module=module,
            is_package=is_package,
            changed=_time(found.changed),
        )

    def _module(self, found: FoundFile) -> tuple[str, bool]:
        if PurePosixPath(found.path).suffix.lower() not in PYTHON:
            return "", False
        return self._modules.of(found.file)


def _time(seconds: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):  # some file systems keep no sensible time
        return None
