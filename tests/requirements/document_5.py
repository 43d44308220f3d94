"""What document 5 asks."""

DOCUMENT = "Document 5: pipeline"

TEXT = """
## StrategySelector
D5-1 `StrategySelector().select(strategies, request, backends)` gives pairs of strategy and
    confidence, best first.
D5-2 Confidences below the threshold are filtered.
D5-3 `selector_threshold` is 0.
D5-4 `max_candidates` is 10 and cuts the list.

## BudgetAllocator
D5-5 `allocate(candidates, total_budget, request)` gives tokens by strategy.
D5-6 Proportional is the default.
D5-7 Equal divides by the number of strategies.
D5-8 Priority sorts by confidence and halves what remains.
D5-9 `allocator_min_budget` is 100.
D5-10 0.95 and 0.85 share 3584 tokens as 1892 and 1692.
D5-11 The strategy may be named in the call.
D5-12 A budget in the request is an upper bound.

## StrategyExecutor
D5-13 `StrategyExecutor(max_workers, timeout_seconds).execute(allocations, request, backends,
    plan_context)` gives results.
D5-14 `executor_max_workers` is 4.
D5-15 `executor_timeout_seconds` is 30.
D5-16 `executor_circuit_breaker_threshold` is 3.
D5-17 `executor_circuit_breaker_reset_timeout` is 60.
D5-18 A result tells what the documented structure tells.

## FragmentDeduplicator
D5-19 `deduplicate(fragments, strategy)` is called as printed.
D5-20 `highest_relevance` is the default.
D5-21 `first_seen` keeps what came first.
D5-22 `most_recent` keeps the newest.
D5-23 `deduplicator_merge_provenance` is true and can be switched off.

## DetailDepthResolver
D5-24 `resolve(fragments, budget, request)` gives fragments at their depths.
D5-25 `resolver_default_depth` is 3.
D5-26 `resolver_hot_tier_boost` is 2.
D5-27 `resolver_budget_aware` is true and can be switched off.

## FragmentScorer
D5-28 `score(fragments, plan_context, request)` gives pairs of fragment and score.
D5-29 Relevance weighs 40 %.
D5-30 Tier weighs 30 %.
D5-31 Recency weighs 20 %.
D5-32 Plan weighs 10 %.

## BudgetPacker
D5-33 `pack(scored_fragments, budget)` gives fragments within the available tokens.
D5-34 `packer_tier_priority` is hot, warm, cold.
D5-35 `packer_greedy` is true.

## FragmentOrderer
D5-36 `order(fragments, strategy)` gives fragments in reading order.
D5-37 Relevance: most relevant first.
D5-38 Recency: newest first.
D5-39 Tier-relevance, the default: by tier, then relevance.
D5-40 Custom: by the user's own key.

## PreambleGenerator
D5-41 `generate(payload, strategies_used, budget_used)` gives a text.
D5-42 `preamble_enabled` is true and can be switched off.
D5-43 `preamble_include_stats` is true and can be switched off.
D5-44 `preamble_max_length` is 500 and is kept.

## SkeletonCompressor
D5-45 `compress(parent_context, child_focus, skeleton_budget)` gives a payload.
D5-46 `compressor_enabled` is true and can be switched off.
D5-47 `compressor_preserve_decisions` is true and can be switched off.
D5-48 `compressor_preserve_hot_tier` is true and can be switched off.

## Data flow
D5-49 Fragments go through dedup, depth, score, pack and order, in this sequence.
D5-50 The documented request is read as it is.
D5-51 The documented payload is serialised with these fields.

## Global configuration
D5-52 `max_tokens` is 4096 and `reserved_tokens` 512.
D5-53 `default_strategy` is arce.
D5-54 Every documented key of every table is read.

## Metrics
D5-55 `assembly_time_ms`, `fragments_selected`, `tokens_used` and `budget_used` are told.
D5-56 `avg_relevance` is the mean relevance.
D5-57 `strategy_success_rate` is the share of strategies that succeeded.
D5-58 `dedup_ratio` is the share of duplicates.
D5-59 `tier_distribution` counts fragments by tier.

## Logging
D5-60 The logger `acms_adapters` tells at DEBUG what was done.

## Tuning
D5-61 A higher threshold filters strategies of low confidence.
D5-62 Fewer candidates run fewer strategies.
D5-63 `max_fragments` bounds what a strategy delivers.
"""
