"""What document 4 asks."""

DOCUMENT = "Document 4: context management"

TEXT = """
## Overview
D4-1 Token limits are strictly kept.
D4-2 Assembly is deterministic.
D4-3 Every fragment is traced to its source.

## Three tiers
D4-4 Hot comes first, then warm, then cold, as room allows.
D4-5 Warm is the default tier.

## Context fragments
D4-6 A fragment is constructed as printed.
D4-7 `fragment_id` is a new ULID.
D4-8 Content holds up to 1,000,000 characters.
D4-9 `detail_depth` runs from 0 to 9.
D4-10 `token_count` is 0 or more.
D4-11 `relevance_score` runs from 0 to 1.
D4-12 `metadata` holds up to 64 entries.
D4-13 `created_at` is a UTC time.
D4-83 Depth 0 lists names, depth 9 is the full source.

## Context budget
D4-14 Available is what is not reserved: 4096 less 512 is 3584.
D4-15 What is reserved must be below the maximum.
D4-16 The pipeline never exceeds the available tokens.
D4-17 Fragments that exceed the budget are skipped.

## Context payload
D4-18 A payload carries id, plan, fragments, tokens, budget, strategies, hash, preamble, provenance
    and time.
D4-19 `payload_id` is a ULID of its own.
D4-20 `provenance_map` leads from each fragment to its provenance.
D4-21 `is_within_budget` compares tokens with what is available.
D4-22 `remaining_tokens` is what is left: 1536 of 3584 after 2048.

## Context request
D4-23 A request is constructed as printed.

## Phase 1
D4-24 The selector polls all strategies and ranks those above the threshold by confidence.
D4-25 The allocator shares by confidence, equally or by priority.
D4-26 The executor runs strategies at the same time, up to its workers.
D4-27 A timeout degrades the answer and does not fail it.

## Phase 2
D4-28 Duplicates keep the highest relevance and everybody's provenance.
D4-29 The resolver starts from the wanted level and looks at the budget.
D4-30 The resolver goes no deeper than a node's renderings.
D4-31 Hot fragments are read deeper.
D4-32 The scorer weighs relevance, tier, recency, plan and kind of resource.
D4-33 The packer sorts by score and fills until the budget is used.
D4-34 The packer stops asking once the budget is full.
D4-35 Orders are by relevance, recency, tier and relevance, or one's own.

## Phase 3
D4-36 The preamble tells numbers of fragments and sources.
D4-37 The preamble tells tokens, utilisation and strategies.
D4-38 The preamble tells key topics.
D4-39 The preamble tells the range of time.
D4-40 The compressor keeps what is critical for the child's focus.
D4-41 The compressor drops redundant detail.
D4-42 The compressor preserves decisions.
D4-43 The compressor keeps provenance.

## Built-in strategies
D4-44 Keyword: takes words from the request, searches text, ranks by frequency.
D4-45 Embedding: embeds the request, searches near vectors, ranks by cosine.
D4-46 Navigator: from the focus outwards and down, ranked by distance and relevance.
D4-47 ARCE: text, vectors and graph, merged and ranked by their combined score.
D4-48 Archaeology: cold records within a window, then what is linked to them now.
D4-49 Plan decisions: up the plans, decisions from warm and cold, then what is linked.
D4-50 Each strategy shows its strongest use on real data.

## Scope resolution
D4-51 A scope starts at the focus, goes up, then down, then sideways.
D4-52 What is not of a wanted kind is left out.
D4-53 A scope ends when the budget is full.
D4-54 A window of 7 days shows what is recent, one of 30 and more what is historical; without a
    window the present counts.

## Inheritance
D4-55 A child with a parent's context inherits within its own budget.
D4-56 `full` takes all that fits.
D4-57 `skeleton` takes the essentials.
D4-58 `none` starts fresh.
D4-59 A payload may be constructed of fragments alone.

## Budget allocation
D4-60 0.95, 0.85 and 0.3 share 3584 tokens as the formula says.
D4-61 Priority gives half of what remains to each.
D4-62 Tiers take 1000, 2000 and 584 of 3584.
D4-84 `allocator_strategy = "tier"` bounds each tier by its share of the budget.
D4-63 Quotas are named `hot_tier`, `warm_tier` and `cold_tier`.

## Utilisation metrics
D4-64 A payload's metrics hold used, remaining, selected, total, coverage, strategies, time and
    means.
D4-65 Coverage is selected over total.
D4-66 `avg_fragment_tokens` is tokens over fragments.

## Budget optimisation
D4-67 Raising the reserve lowers what is available.
D4-68 A lower detail level takes fewer tokens.
D4-69 A higher relevance threshold leaves the rest out.
D4-70 Tiers can be excluded.

## Custom strategies
D4-71 The guide's class works as printed but for its imports.
D4-72 `register_strategy(name, strategy)` makes it usable by name.
E4-custom The guide's strategy works from code and from TOML.

## Reliability
D4-73 Where a strategy fails, a simpler one answers.
D4-74 A delivery may be streamed: it is read piece by piece and no further than its time.
D4-82 Expensive steps wait until they are needed: renderings once there is room, hashes where a
    node repeats.
D4-75 Key decisions and failures are logged.

## Plan execution
D4-76 A created plan gets its first context.
D4-77 A step refreshes: only what changed is fetched again.
D4-78 A subplan inherits and specialises.
D4-79 A completed plan is archived to the cold tier.
D4-80 A plan makes a request of its title and focus.
D4-81 A plan carries its context and hash.

## Worked examples
E4-feature A new feature: focused code and decisions within the budget, put on a plan.
E4-slow-query A slow query: code, recent changes and decisions of the past.
E4-review A review: changed files, related code, decisions and tests.
E4-plans A hierarchy of plans: broad for the parent, special for its children.
"""
