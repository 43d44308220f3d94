"""What the profiles differ in (ruling C3).

`spec` is the documented defaults to the letter. `tuned` adds the choices below; each number was
measured, and changes by measurement alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Profile = Literal["spec", "tuned"]

PROFILES: Mapping[Profile, Mapping[str, Any]] = {
    "spec": {},
    "tuned": {
        "executor_reserve": True,
        "allocator_min_budget": 1,
        "evidence_weights": {
            "simple-keyword": 0.35,
            "semantic-embedding": 0.65,
        },
        "depth_fallback_steps": (2, 4, 0),
    },
}

REASONS: Mapping[str, str] = {
    "executor_reserve": (
        "A share is a guess made before anybody has searched; with what lies beyond it the packer "
        "chooses by what was found."
    ),
    "allocator_min_budget": (
        "With the reserve a small share finds no less, and where only one strategy were asked, its "
        "failure would leave a small budget empty."
    ),
    "evidence_weights": (
        "What words and vectors find both is more often the answer than what one of them finds, "
        "and vectors alone mislead more rarely than words alone."
    ),
    "depth_fallback_steps": (
        "In the room of one documented outline two signatures stand, so more of the code that a "
        "question is about is named at all; prose has no signatures and shows its extract as ever."
    ),
}
"""Why each key of `tuned` differs from `spec`."""
