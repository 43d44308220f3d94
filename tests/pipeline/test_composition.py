"""Services that are made once come from one place."""

import threading

from acms_adapters.models import ContextFragment
from acms_adapters.pipeline import Composition, SkeletonCompressorService


def test_the_skeleton_service_is_made_once() -> None:
    """D2-3."""
    composition = Composition()
    service = composition.skeleton_compressor_service
    assert isinstance(service, SkeletonCompressorService)
    assert composition.skeleton_compressor_service is service


def test_threads_that_ask_at_once_get_one_service() -> None:
    """D2-3."""
    composition = Composition()
    barrier = threading.Barrier(8)
    found: list[SkeletonCompressorService] = []

    def ask() -> None:
        barrier.wait()
        found.append(composition.skeleton_compressor_service)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len({id(service) for service in found}) == 1


def test_two_compositions_share_nothing() -> None:
    assert Composition().skeleton_compressor_service is not (
        Composition().skeleton_compressor_service
    )


def test_the_service_keeps_no_state_between_calls() -> None:
    """D2-1."""
    service = Composition().skeleton_compressor_service
    first = ContextFragment(uko_node="a", content="a", token_count=10, fragment_id="a")
    other = ContextFragment(uko_node="b", content="b", token_count=10, fragment_id="b")
    before = service.compress([first], 0.5)
    service.compress([other, first], 1.0)
    assert service.compress([first], 0.5) == before
    assert not vars(service)
