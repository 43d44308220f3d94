"""Suites that show whether a strategy or a backend does what the pipeline asks of it.

A suite is subclassed in a test module, says how its subject is made, and what that subject cannot
do; pytest finds the rest:

```python
class TestMyText(TextBackendCompliance):
    capabilities = TextBackendCompliance.capabilities - {"stemming"}

    def make_backend(self, documents):
        return MyText(documents)
```

This package needs pytest, and nothing else in the library imports it.
"""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    *(
        f"{__name__}.{module}"
        for module in ("filters", "graph", "strategy", "temporal", "text", "vector")
    )
)

from acms_adapters.testing.graph import GraphBackendCompliance  # noqa: E402
from acms_adapters.testing.plain import (  # noqa: E402
    PlainCounter,
    PlainEmbedder,
    PlainGraph,
    PlainText,
    PlainVectors,
)
from acms_adapters.testing.plain_temporal import PlainTemporal  # noqa: E402
from acms_adapters.testing.sample import sample_backends, sample_request  # noqa: E402
from acms_adapters.testing.strategy import StrategyCompliance  # noqa: E402
from acms_adapters.testing.temporal import TemporalBackendCompliance  # noqa: E402
from acms_adapters.testing.text import TextBackendCompliance  # noqa: E402
from acms_adapters.testing.vector import VectorBackendCompliance  # noqa: E402

__all__ = [
    "GraphBackendCompliance",
    "PlainCounter",
    "PlainEmbedder",
    "PlainGraph",
    "PlainTemporal",
    "PlainText",
    "PlainVectors",
    "StrategyCompliance",
    "TemporalBackendCompliance",
    "TextBackendCompliance",
    "VectorBackendCompliance",
    "sample_backends",
    "sample_request",
]
