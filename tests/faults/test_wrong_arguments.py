"""What cannot be is refused by name where it is given, before anything is done with it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.documents import Document

from acms_adapters import (
    ACMSError,
    ACMSPipeline,
    BackendSet,
    ConfigError,
    ContextFragment,
    ContextStore,
    FusionConfig,
    FusionEngine,
    RequestError,
    Settings,
    StrategyCoordinator,
    StrategyRegistry,
    UnknownNameError,
)
from acms_adapters.backends.vectors import MemoryVectorBackend
from acms_adapters.pipeline import CoordinatorConfig


class Nothing:
    """Something of another kind."""

    def __repr__(self) -> str:
        return "Nothing()"


NO_MAPPINGS = [5, 0, "x", "", [1], [], [("a", 1)], Nothing()]
FRAGMENT = ContextFragment(
    uko_node="a", content="a text", fragment_id="a", created_at=datetime(2026, 1, 1, tzinfo=UTC)
)


@pytest.fixture(scope="module")
def store() -> Iterator[ContextStore]:
    with ContextStore.in_memory(embedder=None) as store:
        yield store


@pytest.mark.parametrize("given", NO_MAPPINGS, ids=repr)
def test_what_is_no_mapping_is_no_configuration(store: ContextStore, given: Any) -> None:
    for read in (
        store.pipeline,
        ACMSPipeline,
        Settings.of,
        Settings.from_mapping,
        StrategyRegistry,
        lambda over: Settings.load(over=over),
    ):
        with pytest.raises(ConfigError, match=r"must map 'context' to a table"):
            read(given)


@pytest.mark.parametrize("given", NO_MAPPINGS, ids=repr)
def test_what_is_no_mapping_is_no_set_of_backends_and_no_facade_s_settings(given: Any) -> None:
    with pytest.raises(RequestError, match="backends must be a BackendSet or a mapping"):
        ACMSPipeline(backends=given)
    with pytest.raises(ValueError, match="CoordinatorConfig"):
        StrategyCoordinator(config=given)
    with pytest.raises(ValueError, match="FusionConfig"):
        FusionEngine(config=given)


def test_an_unknown_backend_is_refused_with_those_there_are() -> None:
    with pytest.raises(RequestError, match=r"unknown backend 'texts' \(known: .*text"):
        BackendSet.of({"texts": True})


def test_facades_read_their_settings_or_a_mapping_of_them() -> None:
    assert StrategyCoordinator(config={"max_candidates": 7}).config.max_candidates == 7  # type: ignore[arg-type]
    chosen = FusionConfig(default_depth=3)
    assert FusionEngine(config=chosen).config is chosen
    assert FusionEngine().config == FusionConfig()
    assert StrategyCoordinator().config == CoordinatorConfig()


@pytest.mark.parametrize("given", [None, 5, "x", {"fragments": ()}, [FRAGMENT]], ids=repr)
async def test_only_a_payload_can_be_refreshed(given: Any) -> None:
    pipeline = ACMSPipeline()
    with pytest.raises(RequestError, match="refresh takes the payload of an earlier call"):
        pipeline.refresh(given)
    with pytest.raises(RequestError, match="refresh takes the payload of an earlier call"):
        await pipeline.arefresh(given)
    if given is not None:
        with pytest.raises(RequestError, match="previous must be a ContextPayload"):
            pipeline.assemble("text", fragments=[FRAGMENT], previous=given)


@pytest.mark.parametrize("name", [5, None, ["arce"], {"a": 1}], ids=repr)
def test_a_strategy_s_name_is_a_string(name: Any) -> None:
    with pytest.raises(UnknownNameError, match="arce"):
        StrategyRegistry().get(name)


@pytest.mark.parametrize("given", [5, "arce", {"arce": 1}], ids=repr)
def test_strategies_come_as_a_list(given: Any) -> None:
    with pytest.raises(TypeError, match="strategies must be a list of strategies, not"):
        ACMSPipeline(strategies=given)


def asked(store: ContextStore, **options: Any) -> None:
    vectors = MemoryVectorBackend()
    backends = store.backends()
    searches = (
        lambda: backends.text.search("text", **options),
        lambda: vectors.similarity_search([1.0], **options),
        lambda: backends.graph.get(["a"], **options),
    )
    for search in searches:
        with pytest.raises(RequestError, match=next(iter(options))) as told:
            search()
        assert isinstance(told.value, ACMSError)


@pytest.mark.parametrize("given", [5, 0, "x", "", [1], b"ab", [None], Nothing()], ids=repr)
@pytest.mark.parametrize("name", ["scope", "resource_types"])
def test_b5_a_filter_that_is_no_list_of_strings_is_refused(
    store: ContextStore, name: str, given: Any
) -> None:
    asked(store, **{name: given})


@pytest.mark.parametrize("given", [5, 0, "x", "", [1], [], [("a", 1)], Nothing()], ids=repr)
def test_b4_a_metadata_filter_that_is_no_mapping_is_refused(
    store: ContextStore, given: Any
) -> None:
    asked(store, metadata_filter=given)


@pytest.mark.parametrize("given", [5, 0, "x", [1], [None], Nothing()], ids=repr)
def test_nodes_that_are_no_list_of_strings_are_refused(store: ContextStore, given: Any) -> None:
    graph = store.backends().graph
    for ask in (graph.get, graph.neighbors, graph.sharing):
        with pytest.raises(RequestError, match="nodes must be a list of strings"):
            ask(given)


@pytest.mark.parametrize(
    "given", [None, 5, "text", {"a": 1}, Document("text"), FRAGMENT], ids=lambda g: type(g).__name__
)
@pytest.mark.parametrize("kind", ["documents", "nodes", "fragments"])
def test_one_thing_or_none_is_no_list_of_things(store: ContextStore, kind: str, given: Any) -> None:
    with pytest.raises(TypeError, match=f"{kind} must be a list of them, not"):
        getattr(store, f"add_{kind}")(given)
