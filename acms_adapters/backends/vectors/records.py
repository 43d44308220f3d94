"""What is written of a node, read from what callers pass."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from pydantic_core import to_jsonable_python

from acms_adapters.errors import EmbedderMismatchError, RequestError
from acms_adapters.models.base import repair_text
from acms_adapters.models.fragment import FragmentProvenance
from acms_adapters.models.hit import SearchHit

Vector = NDArray[np.float32]
"""One row or a matrix of rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorRecord:
    """A node as a vector store keeps it; metadata as JSON, so that nobody shares an object."""

    node: str
    vector: Vector
    content_hash: str = ""
    resource_uri: str = ""
    resource_type: str = ""
    content: str | None = None
    metadata: str | None = None

    def hit(self) -> SearchHit:
        """The node as an answer, not scored yet."""
        return make_hit(
            self.node,
            resource_uri=self.resource_uri,
            resource_type=self.resource_type,
            content=self.content,
            metadata=json.loads(self.metadata) if self.metadata else {},
        )


def make_hit(
    node: str,
    *,
    resource_uri: str,
    resource_type: str,
    content: str | None,
    metadata: dict[str, Any],
) -> SearchHit:
    """An answer from what a vector store keeps by itself."""
    provenance = FragmentProvenance(resource_uri=resource_uri or node, resource_type=resource_type)
    return SearchHit(uko_node=node, content=content, metadata=metadata, provenance=provenance)


def node_ids(ids: Sequence[object]) -> list[str]:
    """Ids as strings.

    Raises:
        RequestError: One of them is None or empty.
    """
    for one in ids:
        if one is None or one == "":
            raise RequestError(f"a node's id must be a non-empty string, not {one!r}")
    return [repair_text(str(one)) for one in ids]


def read_records(
    ids: Sequence[object],
    vectors: Any,
    *,
    hashes: Sequence[str] | None = None,
    resource_uris: Sequence[str] | None = None,
    resource_types: Sequence[str] | None = None,
    contents: Sequence[str | None] | None = None,
    metadatas: Sequence[Mapping[str, Any] | None] | None = None,
) -> dict[str, VectorRecord]:
    """Records by node, the last one of each; errors as `VectorIndex.upsert` tells."""
    nodes = node_ids(ids)
    size = len(nodes)
    rows = read_matrix(vectors, nodes)
    columns = zip(
        nodes,
        rows,
        _column("hashes", hashes, size),
        _column("resource_uris", resource_uris, size),
        _column("resource_types", resource_types, size),
        _column("contents", contents, size),
        _column("metadatas", metadatas, size),
        strict=True,
    )
    return {
        node: VectorRecord(
            node=node,
            vector=row,
            content_hash=content_hash or "",
            resource_uri=repair_text(resource_uri or node),
            resource_type=repair_text(resource_type or ""),
            content=None if content is None else repair_text(content),
            metadata=None if metadata is None else _as_json(node, metadata),
        )
        for node, row, content_hash, resource_uri, resource_type, content, metadata in columns
    }


def _column(name: str, values: Sequence[Any] | None, size: int) -> Sequence[Any]:
    if values is None:
        return [None] * size
    if isinstance(values, str) or len(values) != size:
        raise RequestError(f"{name} must hold one value for each of {size} ids, not {values!r:.80}")
    return values


def read_matrix(vectors: Any, nodes: Sequence[str]) -> Vector:
    """A row for each node.

    Raises:
        RequestError: Another number of rows, or a value that is no finite number.
        EmbedderMismatchError: The rows differ in size.
    """
    try:
        rows = list(vectors)
        sizes = {len(row) for row in rows}
    except TypeError as error:
        raise RequestError(f"vectors must be rows of numbers, not {vectors!r:.80}") from error
    if len(rows) != len(nodes):
        raise RequestError(f"{len(nodes)} ids need as many vectors, not {len(rows)}")
    if not rows:
        return np.zeros((0, 0), dtype=np.float32)
    if len(sizes) > 1:
        raise EmbedderMismatchError(
            f"vectors of one call have {min(sizes)} and {max(sizes)} dimensions: "
            "embed all texts with one model"
        )
    matrix = _as_numbers(rows, "the vectors")
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if matrix.shape[1] == 0 or bad.size:
        node = nodes[int(bad[0])] if bad.size else nodes[0]
        raise RequestError(f"the vector of {node!r} must hold finite numbers: embed its text again")
    return matrix


def read_query(embedding: Any) -> Vector:
    """The vector of a question.

    Raises:
        RequestError: It is no row of finite numbers.
    """
    query = _as_numbers(embedding, "the question's vector")
    if query.ndim != 1 or query.size == 0 or not np.isfinite(query).all():
        raise RequestError("the question's vector must be one row of finite numbers")
    return query


def _as_numbers(values: Any, what: str) -> Vector:
    try:
        return np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise RequestError(f"{what} must hold numbers: {error}") from error


def check_size(size: int, known: int | None, *, embedder: str | None) -> None:
    """Refuse a vector of another size than those that are there (ruling B7).

    Raises:
        EmbedderMismatchError: Naming both sizes.
    """
    if known is not None and size != known:
        maker = f"embedder {embedder!r}" if embedder else "another embedder"
        raise EmbedderMismatchError(
            f"a vector has {size} dimensions, the stored ones, made by {maker}, have {known}: "
            "use that embedder, or index again with the new one"
        )


def unit(rows: Vector) -> Vector:
    """Rows scaled to length 1; zero stays zero."""
    wide = rows.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=-1, keepdims=True)
    return cast(Vector, (wide / np.where(lengths > 0.0, lengths, 1.0)).astype(np.float32))


_BLOCK = 9_000
"""Numbers in a block of rows; from 9,216 on OpenBLAS wakes other threads."""

_MANY = 3_000_000


def cosines_of(rows: Vector, query: Vector) -> Vector:
    """The product of each row and a vector of its length, on this thread.

    In one piece several threads would do it, which spend more time on waiting for each other than
    one of them on the work; only for very many rows they are worth it.
    """
    step = max(4, _BLOCK // max(1, query.shape[0]) // 4 * 4)  # rows are multiplied four at a time
    if len(rows) <= step or rows.size > _MANY:
        return cast(Vector, rows @ query)
    found = np.empty(len(rows), dtype=np.result_type(rows, query))
    for start in range(0, len(rows), step):
        np.matmul(rows[start : start + step], query, out=found[start : start + step])
    return cast(Vector, found)


def _as_json(node: str, metadata: Mapping[str, Any]) -> str:
    try:
        return json.dumps(_with_plain_keys(metadata), default=_as_plain)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"metadata of {node!r} cannot be written as JSON: {error}") from error


def _with_plain_keys(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key if isinstance(key, str) else str(key): _with_plain_keys(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_with_plain_keys(item) for item in value]
    return value


def _as_plain(value: Any) -> Any:
    """What JSON has no word for: sets as lists, times in ISO form, anything else as text."""
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if callable(tolist := getattr(value, "tolist", None)):
        return tolist()
    return to_jsonable_python(value, fallback=str, bytes_mode="base64", inf_nan_mode="constants")
