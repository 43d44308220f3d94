"""What document 3 asks."""

DOCUMENT = "Document 3: strategy registry"

TEXT = """
## ContextStrategy protocol
D3-1 A strategy has name, capabilities, `can_handle`, `assemble` and `explain`.
D3-2 `can_handle` answers between 0 and 1.
D3-3 `assemble` gets request, backends, budget and plan context.
D3-4 What a strategy delivers is cut to its budget.
D3-5 `explain` says in words what a strategy does.

## StrategyCapabilities
D3-6 The four backend flags are false by default.
D3-7 Resource types are empty by default, which means all.
D3-8 The quality score is 0.5 by default and lies in [0, 1].
D3-9 The three support flags are false by default.

## Built-in strategies
D3-10 There are six, found by their names.
D3-11 simple-keyword: quality 0.3, needs text.
D3-12 semantic-embedding: quality 0.6, needs vectors.
D3-13 breadth-depth-navigator: quality 0.85, needs a graph.
D3-14 arce: quality 0.95, needs text, vectors and a graph.
D3-15 temporal-archaeology: quality 0.5, needs graph and temporal.
D3-16 plan-decision-context: quality 0.7, needs temporal and graph.
D3-17 Three are enabled by default: keyword, embedding and navigator.
D3-18 Every strategy retrieves from real backends.

## Configuration
D3-19 `enabled` in `[context.strategies]` lists what is asked.
D3-20 `[context.strategies.custom]` names strategies by import path.
D3-21 A strategy's table: timeout 30, 100 fragments, 4 workers, threshold 3, enabled.
D3-22 A project's list replaces the global one.
D3-32 A strategy's own table goes before the general settings.
D3-33 A strategy that asks several backends does so with at most its `max_workers`.

## ContextStrategyResult
D3-23 A result tells strategy, fragments, total, tokens, time, errors and statistics.
D3-24 `total_fragments` counts before limits.
D3-25 Fragments are ordered by relevance falling, then node rising.

## Registry validation
D3-26 Every enabled strategy must be registered.
D3-27 Every strategy declares at least one backend.
D3-28 Resource types are declared well; none means all.

## Fallback
D3-29 Where backends are missing, arce falls to the navigator, embedding and keyword in turn.
D3-30 Context is produced even where only text is there.
D3-31 Strategies are registered by configuration or by code.
"""
