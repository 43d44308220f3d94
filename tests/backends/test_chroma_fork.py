"""Chroma's engine has threads, and a process that is forked off is without them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

FORK = """
import os, sys
import numpy as np
from acms_adapters.backends.chroma import ChromaVectorBackend
from acms_adapters.errors import BackendError

rows = np.random.default_rng(1).normal(size=(50, 32))
backend = ChromaVectorBackend(sys.argv[1] + "/one")
backend.upsert([f"n{i}" for i in range(50)], rows)
child = os.fork()
if child == 0:
    refused = 0
    for ask in (
        lambda: backend.similarity_search(rows[3], top_k=2),
        lambda: backend.upsert(["new"], rows[:1]),
        lambda: ChromaVectorBackend(sys.argv[1] + "/two"),
    ):
        try:
            ask()
        except BackendError as error:
            refused += "forked off" in str(error) and "spawn" in str(error)
    sys.exit(refused)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(backend.similarity_search(rows[3], top_k=1)[0].uko_node)
"""


def test_a_process_that_is_forked_off_is_told_so_and_does_not_wait_for_ever(
    tmp_path: Path,
) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )
    assert ran.stdout.split() == ["3", "n3"], ran.stderr


def test_a_process_that_opens_its_first_store_after_the_fork_uses_it(tmp_path: Path) -> None:
    program = FORK.split("rows =")[0] + (
        "child = os.fork()\n"
        "rows = np.random.default_rng(1).normal(size=(50, 32))\n"
        "backend = ChromaVectorBackend(sys.argv[1] + '/' + str(child == 0))\n"
        "backend.upsert([f'n{i}' for i in range(50)], rows)\n"
        "found = backend.similarity_search(rows[3], top_k=1)[0].uko_node\n"
        "if child == 0:\n"
        "    sys.exit(found == 'n3')\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), found)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )
    assert ran.stdout.split() == ["1", "n3"], ran.stderr
