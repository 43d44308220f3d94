"""Indexing folders and files, and removing them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from acms_adapters.backends.sqlite import SQLiteStore
from acms_adapters.errors import RequestError
from acms_adapters.indexing.files import is_file
from acms_adapters.indexing.project import ROOT_KEY, Project, is_project, to_project
from acms_adapters.indexing.report import IndexReport, Progress
from acms_adapters.indexing.run import Run
from acms_adapters.indexing.scan import Scanner
from acms_adapters.indexing.source import project_uri
from acms_adapters.indexing.writing import Writer


class PathIndexer:
    """Brings a store in line with folders.

    Args:
        leave: The store's own folder, which is never indexed.
    """

    def __init__(self, texts: SQLiteStore, writer: Writer, *, leave: Path | None) -> None:
        self._texts = texts
        self._writer = writer
        self._leave = () if leave is None else (leave.resolve(),)

    def index(
        self, path: Path, *, name: str | None, progress: Progress, **choice: Any
    ) -> IndexReport:
        """Index a folder or file; see `ContextStore.add_path`."""
        place = _resolve(path)
        known = self._texts.hashes()
        project = self._project(place, name, known)
        files = files_of(project, known)
        scanner = Scanner.of(project.root, leave=self._leave, **choice)
        run = Run(project, files)
        self._writer.put(run.read(list(scanner.scan(place)), progress))
        gone = run.gone(place, scanner)
        self._finish(project, (files.keys() | run.seen).difference(gone), gone, progress)
        return run.report(gone)

    def remove(self, target: str | Path, *, progress: Progress) -> int:
        """Remove what a URI, source or path names; see `ContextStore.remove`."""
        if not str(target).strip():
            raise RequestError(f"name what to remove by its URI or path, not {target!r}")
        known = self._texts.hashes()
        projects = projects_of(self._texts, known)
        gone = set(self._texts.resources_under([str(target)]))
        gone = gone or set(_at(Path(target), projects, known))
        for project in projects:
            files = files_of(project, known).keys()
            if project.uri in gone or not files.isdisjoint(gone):
                self._finish(project, files - gone, sorted(gone & files), progress)
        gone.difference_update(project.uri for project in projects)
        self._writer.finish(progress, removed=sorted(gone))
        return len(gone)

    def _finish(
        self, project: Project, files: Collection[str], gone: Sequence[str], progress: Progress
    ) -> None:
        """Bring the project's own nodes in line with its files; without files they go too."""
        listing = to_project(project, files)
        if not files:
            gone = (*gone, project.uri)
        elif self._texts.hashes().get(project.uri) != listing.content_hash:
            self._writer.put([listing])
        self._writer.finish(progress, removed=gone)

    def _project(self, place: Path, name: str | None, known: Mapping[str, str]) -> Project:
        """The project that a folder or file belongs to: one that is known, or a new one.

        Raises:
            RequestError: The name cannot be one, or is that of another folder.
        """
        projects = projects_of(self._texts, known)
        around = [project for project in projects if place.is_relative_to(project.root)]
        if name is None and around:
            return max(around, key=lambda project: len(project.root.parts))
        root = place if place.is_dir() else place.parent
        name = root.name if name is None else name
        if not name.strip() or "/" in name:
            raise RequestError(f"a project needs a name without '/', not {name!r}: pass name=")
        uri = project_uri(name)
        namesake = next((project for project in projects if project.uri == uri), None)
        if namesake in around and namesake is not None:
            return namesake
        if namesake is not None and namesake.root.is_dir():
            raise RequestError(
                f"the name {name!r} belongs to the folder {str(namesake.root)!r}: pass another "
                f"name= for {str(root)!r}, or remove({uri!r}) first"
            )
        return Project(uri, root)


def projects_of(texts: SQLiteStore, known: Mapping[str, str]) -> list[Project]:
    """The projects of a store, from the hashes of its resources."""
    uris = [uri for uri, content_hash in known.items() if is_project(content_hash)]
    return [
        Project(hit.uko_node, Path(str(hit.metadata.get(ROOT_KEY))))
        for hit in texts.graph.get(uris)
    ]


def _resolve(path: Path) -> Path:
    try:
        place = path.expanduser().resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise FileNotFoundError(
            f"there is no file or folder {str(path)!r}: check the path"
        ) from error
    if not place.is_dir() and not place.is_file():
        raise RequestError(f"{str(path)!r} is neither a folder nor a file: check the path")
    return place


def files_of(project: Project, known: Mapping[str, str]) -> dict[str, str]:
    """Hashes of the files that a project has."""
    return {
        uri: content_hash
        for uri, content_hash in known.items()
        if uri.startswith(f"{project.uri}/") and is_file(content_hash)
    }


def _at(path: Path, projects: Sequence[Project], known: Mapping[str, str]) -> Iterator[str]:
    """Files that a path names, whether or not it is there any more."""
    place = path.expanduser().resolve()
    for project in projects:
        if place.is_relative_to(project.root):
            where = project.uri_of(place)
            for uri in files_of(project, known):
                if uri == where or uri.startswith(f"{where}/"):
                    yield uri
