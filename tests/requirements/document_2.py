"""What document 2 asks."""

DOCUMENT = "Document 2: skeleton compressor"

TEXT = """
## Design
D2-1 The service keeps no state between calls.
D2-2 `SkeletonMetadata` cannot be changed.
D2-3 A composition root exposes one `skeleton_compressor_service`.

## Skeleton ratio
D2-4 0.0 keeps every fragment as it is.
D2-5 0.3 keeps about 70 % of the tokens, the most relevant first.
D2-6 0.5 keeps about half.
D2-7 0.8 keeps about a fifth.
D2-8 1.0 keeps the most relevant fragment alone.
D2-9 A ratio outside [0, 1] is a ValueError.
D2-10 Both ends of the range are accepted.

## Default handling
D2-11 An unset ratio is 0.3.
D2-12 The ratio of a plan is handed on, and an unset one means the default.

## Fragment ordering
D2-13 Fragments are sorted by relevance falling, then fragment id rising.
D2-14 Identical inputs give identical output whatever their order.

## Compression algorithm
D2-15 Ratio and fragments are validated before anything else.
D2-16 `original_tokens` is the sum of all fragments' tokens.
D2-17 The token budget is what the ratio leaves of it.
D2-18 Fragments are taken in order while they fit.
D2-19 The result is the kept fragments and their metadata.

## Metadata
D2-20 Metadata hold ratio, original and compressed tokens and decision ids.
D2-21 `source_decision_ids` names the decisions of the kept fragments.
D2-22 `compressed_tokens` is the sum of what was kept.
D2-23 A plan keeps the metadata in `skeleton_metadata`.
D2-24 `as_cli_dict()` shows it under `skeleton`.
D2-25 A plan that inherited nothing shows no skeleton.
D2-26 The metadata survive being stored as JSON.

## Multi-decision plan
D2-27 Of 400, 300 and 300 tokens at ratio 0.5 the best fragment alone stays, 400 of 1000.

## Edge cases
D2-28 Nothing compresses to nothing.
D2-29 One fragment larger than the budget is kept.
D2-30 Fragments without tokens cost nothing.
D2-31 Inputs are never changed.

## Integration
D2-32 Spawning a child compresses the parent's context and stores the metadata on the child.
D2-33 What was compressed is the child's inherited context, within its budget.

## Command line
D2-34 `acms project context set --skeleton-ratio` sets the ratio of a project.
D2-35 `acms plan status` shows the compression where there was one.
E2-smoke The skeleton works end to end: from an indexed project to the child's plan, the files and
    the command line.
"""
