"""One pass over a folder: what is new, changed, gone, or left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from acms_adapters.indexing.files import FileReader
from acms_adapters.indexing.project import Project
from acms_adapters.indexing.report import IndexReport, Progress, Skip
from acms_adapters.indexing.scan import FoundFile, Scanner, read_file
from acms_adapters.models import IndexedResource


class Run:
    """A pass over some files of a project.

    Args:
        known: Hashes of the project's files as the store has them.
    """

    def __init__(self, project: Project, known: Mapping[str, str]) -> None:
        self.seen: set[str] = set()
        self._project = project
        self._known = known
        self._reader = FileReader(project.uri)
        self._added: list[str] = []
        self._changed: list[str] = []
        self._skipped: list[Skip] = []
        self._notes: list[Skip] = []

    def read(
        self, found: Sequence[FoundFile | Skip], progress: Progress
    ) -> Iterator[IndexedResource]:
        """Resources of the files that are new or changed."""
        for done, one in enumerate(found, start=1):
            resource = one if isinstance(one, Skip) else self._read(one)
            if isinstance(resource, Skip):
                self._skipped.append(resource)
            elif resource is not None:
                yield resource
            progress("reading", done, len(found))

    def gone(self, place: Path, scanner: Scanner) -> list[str]:
        """Known files of a place that were not seen, but for those that were not asked for."""
        where = self._project.uri_of(place)
        return [
            uri
            for uri in self._known
            if uri not in self.seen
            and (uri == where or uri.startswith(f"{where}/"))
            and not scanner.passes_over(self._project.place_of(uri))
        ]

    def report(self, gone: Sequence[str]) -> IndexReport:
        """What was done."""
        return IndexReport(
            kind="files",
            project=self._project.uri,
            added=tuple(self._added),
            changed=tuple(self._changed),
            unchanged=len(self.seen) - len(self._added) - len(self._changed),
            removed=tuple(gone),
            skipped=tuple(self._skipped),
            notes=tuple(self._notes),
        )

    def _read(self, found: FoundFile) -> IndexedResource | Skip | None:
        """The resource of a file, why it is left out, or nothing where it is as it was."""
        data = read_file(found)
        if isinstance(data, Skip):
            return data
        uri = self._reader.uri(found)
        if self._known.get(uri) == self._reader.content_hash(found, data):
            self.seen.add(uri)
            return None
        read = self._reader.read(found, data)
        if isinstance(read, Skip):
            return read
        resource, note = read
        if note:
            self._notes.append(Skip(found.path, note))
        self.seen.add(uri)
        (self._changed if uri in self._known else self._added).append(uri)
        return resource
