"""What document 1 asks."""

DOCUMENT = "Document 1: coordinator and fusion"

TEXT = """
## StrategyCoordinator: public API
D1-1 `StrategyCoordinator(config=…).coordinate(request, strategies, budget, fragments, backends,
    plan_context)` is called as printed.
D1-2 The result has `fragments`, `strategies_used`, `allocations` and `circuit_broken`.
D1-3 An allocation is a name, a confidence and a number of tokens.

## Budget allocation
D1-4 Confidences of 0.8 and 0.2 share a budget 80 to 20.
D1-5 The largest remainder method loses no token to rounding.
D1-6 A strategy whose share is below the useful minimum is left out and its tokens go to the
    others.

## Per-strategy caps
D1-7 A share above the cap is cut to it.
D1-8 The excess goes to the uncapped in proportion.
D1-9 What is handed on is capped too.

## Error handling
D1-10 After a number of failures in a row a strategy is left alone and listed as broken.
D1-11 A strategy that exceeds its timeout has failed.
D1-12 Failed strategies are left out and do not fail the round.

## FusionEngine: public API
D1-13 `FusionEngine(config=…).fuse(fragments, budget)` is called as printed.
D1-14 The result tells fragments, duplicates, resolved depths, guard drops, tokens and utilisation.

## Fragment dedup
D1-15 Fragments of one node with the same text are one, and the most relevant stays.

## Detail conflict resolution
D1-16 Of several depths of a node the deepest stays.
D1-17 At equal depth the more relevant stays.

## Greedy packing
D1-18 Ties go by relevance falling, depth falling, tokens rising.
D1-19 The budget is filled from the best fragment down.
D1-20 When a fragment does not fit, lower renderings of its node are tried.

## Budget overage guard
D1-21 After packing, tokens are checked against the budget until they fit.
D1-22 The guard drops the least relevant first.
D1-23 Each drop is a structured WARNING record.

## CoordinatorConfig
D1-24 `min_useful_budget` is 64.
D1-25 `executor_timeout` is 30 seconds.
D1-26 `executor_max_workers` is 4.
D1-27 `circuit_breaker_threshold` is 3.
D1-28 `preference_boost` is 1.5.
D1-29 `per_strategy_max_cap` is unset.

## FusionConfig
D1-30 `scorer_weights` is unset.
D1-31 `depth_fallback_steps` is 9, 4, 2, 0.
D1-32 `min_fragment_tokens` is 10.
D1-33 `overage_guard_enabled` is true.
"""
