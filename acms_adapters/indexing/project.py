"""A project's own nodes: itself and its folders, with what they list."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from acms_adapters.indexing.source import containment, file_uri, keep_renderings
from acms_adapters.models import IndexedNode, IndexedResource
from acms_adapters.models.fragment import MAX_CONTENT_CHARS

NAME, LISTING = 0, 2

FORMAT = "project-1:"
"""How the hash of a project's own resource begins."""

ROOT_KEY = "root"
"""Metadata key of a project's node: the folder it was indexed from."""


@dataclass(frozen=True, slots=True)
class Project:
    """An indexed folder: its URI, and where it is."""

    uri: str
    root: Path

    def uri_of(self, place: Path) -> str:
        """URI of the root, or of a file or folder below it."""
        path = place.relative_to(self.root).as_posix()
        return self.uri if path == "." else file_uri(self.uri, path)

    def place_of(self, uri: str) -> Path:
        """Where the file or folder of a URI is."""
        path = uri.removeprefix(self.uri).lstrip("/")
        return self.root / unquote(path, errors="surrogateescape")


def is_project(content_hash: str) -> bool:
    """Whether a resource of this hash is a project's own."""
    return content_hash.startswith(FORMAT)


def to_project(project: Project, files: Iterable[str]) -> IndexedResource:
    """The project's node and those of its folders, from the URIs of its files.

    They are reached through the graph and by name; their listings are not searched.
    """
    uri, root = project.uri, str(project.root)
    children: dict[str, list[str]] = {uri: []}
    for file in sorted(files):
        _hang_up(file, uri, children)
    nodes = [_node(folder, uri, root, children) for folder in children]
    listing = "\n".join([root, *(f"{folder}\t{inside}" for folder, inside in children.items())])
    return IndexedResource(
        resource_uri=uri,
        content_hash=FORMAT + hashlib.sha256(listing.encode("utf-8", "surrogatepass")).hexdigest(),
        nodes=tuple(nodes),
        edges=tuple(containment(nodes)),
    )


def parent_of(file: str, project: str) -> str:
    """URI of the folder, or the project, that a file's URI lies in."""
    folder = file.rpartition("/")[0]
    return folder if len(folder) > len(project) else project


def _hang_up(uri: str, project: str, children: dict[str, list[str]]) -> None:
    """Enter a URI, and the folders on the way to it, below what contains them."""
    while uri != project:
        parent = parent_of(uri, project)
        known = parent in children
        children.setdefault(parent, []).append(uri)
        if known:
            return
        uri = parent


def _node(uri: str, project: str, root: str, children: dict[str, list[str]]) -> IndexedNode:
    is_root = uri == project
    path = unquote(uri.removeprefix(project).lstrip("/"))
    name = unquote(project.partition("://")[2]) if is_root else path
    inside = (f"  {_last(one)}{'/' if one in children else ''}" for one in children[uri])
    listing = "\n".join([f"{name}/", *inside])[:MAX_CONTENT_CHARS]
    return IndexedNode(
        uko_node=uri,
        kind="project" if is_root else "folder",
        resource_uri=uri,
        resource_type="source_file",
        parent=None if is_root else parent_of(uri, project),
        names=tuple(dict.fromkeys((name, _last(name)))),
        renderings=keep_renderings({NAME: f"{name}/", LISTING: listing}),
        searched_depth=LISTING,
        metadata={"kind": "project", ROOT_KEY: root} if is_root else {"kind": "folder"},
    )


def _last(path: str) -> str:
    return unquote(path.rpartition("/")[2])
