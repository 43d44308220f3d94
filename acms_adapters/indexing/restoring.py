"""Reading damaged resources again from their files, where these are as they were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from acms_adapters.backends.sqlite import DAMAGED, SQLiteStore
from acms_adapters.indexing.files import FileReader
from acms_adapters.indexing.paths import files_of, projects_of
from acms_adapters.indexing.project import Project, is_project, to_project
from acms_adapters.indexing.report import Progress, Skip
from acms_adapters.indexing.scan import FoundFile, read_file
from acms_adapters.indexing.writing import Writer
from acms_adapters.models import IndexedResource


def restore(
    texts: SQLiteStore, writer: Writer, damaged: Iterable[str], progress: Progress
) -> frozenset[str]:
    """Write resources again that can be made exactly as they were; which these are."""
    known = {uri: said.removesuffix(DAMAGED) for uri, said in texts.hashes().items()}
    projects = {project.uri: project for project in projects_of(texts, known)}
    made = list(_made(sorted(damaged), known, projects))
    if made:
        writer.put(made)
        writer.finish(progress)
    return frozenset(resource.resource_uri for resource in made)


def _made(
    damaged: Iterable[str], known: dict[str, str], projects: dict[str, Project]
) -> Iterator[IndexedResource]:
    for uri in damaged:
        around = [
            one for name, one in projects.items() if uri == name or uri.startswith(f"{name}/")
        ]
        for project in around:
            resource = _listing(project, known) if uri == project.uri else _file(project, uri)
            if resource is not None and resource.content_hash == known[uri]:
                yield resource
                break


def _listing(project: Project, known: dict[str, str]) -> IndexedResource | None:
    return to_project(project, files_of(project, known)) if is_project(known[project.uri]) else None


def _file(project: Project, uri: str) -> IndexedResource | None:
    place = project.place_of(uri)
    if not place.is_file() or place.is_symlink():
        return None
    path = place.relative_to(project.root).as_posix()
    found = FoundFile(place, path, place.stat().st_mtime)
    data = read_file(found)
    if isinstance(data, Skip):
        return None
    read = FileReader(project.uri).read(found, data)
    return None if isinstance(read, Skip) else read[0]
