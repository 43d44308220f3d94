"""What document 6 asks."""

DOCUMENT = "Document 6: strategies"

TEXT = """
## Simple keyword
D6-1 Keywords are taken from the request.
D6-2 Hits are ranked by frequency and relevance.
D6-3 Timeout 10 s, 50 fragments.
D6-4 `keyword_boost_factor` is 1.5.
D6-5 Exact keyword matches are boosted by the factor.

## Semantic embedding
D6-6 The request is embedded and hits are ranked by cosine.
D6-7 Timeout 20 s, 100 fragments.
D6-8 `similarity_threshold` is 0.5 and bounds the hits.
D6-9 `embedding_model` is `character-frequency-v1`.

## Breadth-depth navigator
D6-10 It walks outwards by breadth and down by depth from the focus.
D6-11 Hits are ranked by distance.
D6-12 Timeout 30 s, 150 fragments.
D6-13 `default_breadth` is 2 and `default_depth` 3.
D6-14 `distance_decay` is 0.8 per hop.
D6-15 Missing focus nodes, hubs and cycles do no harm.

## ARCE
D6-16 Text takes 0.4 of the budget, vectors 0.4, the graph 0.2.
D6-17 The fractions are options.
D6-18 What several arms found is one fragment.
D6-19 Timeout 45 s, 200 fragments.
D6-20 `dedup_strategy` is `highest_relevance` and can be another.
D6-21 Hits are ranked by the combined score.
D6-22 Arms are asked at the same time.

## Temporal archaeology
D6-23 Records of the cold tier within the window are found first, then what is linked to them.
D6-24 Hits are ranked by recency and relevance.
D6-25 It is switched off by default.
D6-26 Timeout 60 s, 100 fragments.
D6-27 `default_temporal_window` is 7d.
D6-28 `include_current_context` is true and can be switched off.
D6-29 Windows are 1d, 7d, 30d, 90d, 1y and all.

## Plan-decision context
D6-30 It walks up the plans and takes decisions of warm and cold.
D6-31 Hits are ranked by nearness of the plan and relevance.
D6-32 It walks from decisions to what is linked.
D6-33 Timeout 30 s, 100 fragments.
D6-34 `include_ancestor_decisions` is true and can be switched off.
D6-35 `max_ancestor_depth` is 5.

## Using strategies by name
D6-36 `assemble(plan_id, fragments, budget, strategy="simple-keyword")` works as printed.
D6-37 Every built-in strategy can be named in a call.
D6-46 An option outside its range is refused with its file and key.

## Fallback chain
D6-38 arce falls to the navigator, then embedding, then keyword.
D6-39 `fallback_chain` can be configured.

## Configuration
D6-40 The documented tables of all strategies are read.
D6-41 `acms project context set --strategy … --strategy …` sets a project's list.
D6-42 `acms project context list` shows it.

## Monitoring
D6-43 The log tells time, fragments, tokens, budget used, relevance and tiers of each strategy.

## Troubleshooting
D6-44 A strategy that is not enabled is not asked.
D6-45 A strategy whose backends are missing is not selected, and that is told.
"""
