"""What the rulings ask."""

DOCUMENT = "Rulings"

TEXT = """
## Models
M1 The documents' names are public: models, facades and pipeline from `acms_adapters`, the ten
    components from `acms_adapters.pipeline`.
M1.result `StrategyResult` and `ContextStrategyResult` are one class.
M1.decision A fragment that tells a decision names it in `metadata["decision_id"]`.
M1.ratio The default ratio is a public constant.
M2 A request has every documented field and those that the rulings add; none is required.
M2.frozen A request cannot be changed, and unknown fields are refused.
M2.mapping A request reads like a mapping of the fields that were set, so that strategies written
    for dicts work.
M2.dict A dict is accepted wherever a request is.
M2.preferred `preferred_strategies` is another name of `strategy_hints`.
M2.keywords Keywords left out are the words of the query that carry meaning.
M2.names Focus nodes left out are found by the symbols and titles that the query names.
M2.seeds Where the query names nothing, a walk starts at the best first hits.
M2.filters `min_relevance` and `exclude_tiers` of a request replace those configured.
M2.inside Scope, kinds and metadata of a request hold for whatever callers and strategies bring;
    the rest is out of scope in the ledger.
M2.budget The budget of the request counts when the call names none.
M3 `breadth` counts hops along any relation, `depth` hops down containment.
M3.detail An unset detail level takes the fullest rendering that fits.
M4 What the indexer finds is named `project://NAME/PATH#QUALNAME`.
M4.types The kind of resource follows from the path and stands in provenance and metadata.
M5 A plan context needs no argument and may be given as a dict.
M5.plan A plan holds title, parent, focus, context, hash and receipt, and makes requests.
M5.decisions Recording a decision gives another plan and leaves the first as it was.
M5.cli `as_cli_dict()` is JSON and shows the receipt under `skeleton`.
M5.stored Plans and decisions come back from the temporal store with all they hold.
M6 Values outside their range are refused by the constructor, by name.
M6.given What is no fragment, plan context or request is refused by name before any work is done.
M6.long Text longer than a fragment may be is split, and every part can be found.
M6.surplus Metadata beyond 64 entries are nested under one key and come back intact.
M7 Scores of backends are mapped into [0, 1] and keep their order.
M7.nan A score that is no number becomes 0.
M7.index Where an index knows mean and deviation of its scores, relevance is measured against them.
M8 A time without a zone is UTC.
M9 `context_hash` is SHA-256 over what is read and the budget, without ids and clock.
M9.order Equal inputs in any order give the same hash.
M9.process Equal inputs in any process give the same hash.
M10 Only the fragments of a payload are required; the rest is derived.
M10.contradiction Given values that contradict the derived ones are refused.
M10.used `budget_used` is total over available tokens.
M10.available `available_tokens` is serialised and loads again.
M10.metrics `metrics` holds every documented figure once, and 0 where there is nothing.

## Strategies and the pipeline
S1 Both forms of the protocol are used as one through `SpecStrategyAdapter`.
S1.form The form is told by parameter names, then by their number.
S1.doubt A doubtful form is a TypeError that says what is expected.
S1.candidates A strategy of the short form ranks the caller's candidates, else text and vector
    hits.
S2 A question asks with `assemble(request_or_query, …)`; the documented form names plan, fragments
    and budget.
S2.positional A positional string before fragments is a plan id; alone it is a question.
S2.async `aassemble` takes the same calls as `assemble`.
S2.candidates Without backends the caller's fragments are what is searched.
S2.ranked Fragments without a request are ranked as they are.
S2.named A named strategy runs whatever its confidence and the enabled list say; only a missing
    backend or its own switch hinders it.
S2.plan `plan` is a plan, its context, a mapping of it or an id.
S2.most `max_fragments` is an upper bound on the fragments of the payload.
S3 What a strategy ranked beyond its share travels on as reserve, and the packer chooses from both.
S3.limit Share and reserve together hold at most `max_fragments`.
S3.spec The `spec` profile has no reserve.
S3.int A number of tokens is accepted wherever a budget is, and reserves nothing.
S4 The text that is read, counted as one string, is at most the available tokens.
S4.layout The payload layout prices headers and preamble, the bare layout separators alone.
S4.preamble The preamble gives way before a fragment does.
S4.guard A drop by the guard is a logged surprise; after the packer it has nothing to do.
S4.larger `remaining_tokens` and `is_within_budget` go by the larger of declared and read tokens.
S4.declared Declared counts are verified on admission, and the larger of the two counts.
S4.engine `FusionEngine.fuse` without a counter works on declared counts.
S5 A built-in strategy is as confident as its quality when backends and request allow, else 0.
S5.hinted A hinted strategy answers with its defaults where the request has nothing for it.
S5.boost A hint multiplies the confidence, capped at 1, before threshold and cut.
S5.unknown An unknown hint is logged and does no harm.
S5.zero A confidence of 0 is never selected, whatever the threshold.
S5.shares Shares are proportional to confidence by largest remainder, ties by name.
S6 Facade and file name one setting: the smallest useful share.
S6.smallest Shares below it go one at a time, with new shares after each, and the last one stays.
S6.cap A cap below the smallest useful share is refused.
S6.priority Priority allocation gives half of the rest to each in turn.
S6.quotas Tier quotas belong to the packer.
S7 A strategy's timeout runs from its own start.
S7.own Each built-in strategy has its documented timeout, others the general one.
S7.deadline One deadline holds for all, by default the largest timeout among those selected.
S7.stuck A stuck strategy delays neither the answer nor the exit of the interpreter.
S7.late Late results are dropped and recorded.
S7.names One table tells facade names beside file keys.
S8 Consecutive failures open the circuit at the threshold.
S8.half After the reset time one probe goes through; success closes, failure reopens.
S8.shared A breaker is shared by threads and loses no failure.
S8.cancelled A cancelled call is no failure.
S9 Failures are named in the result, and the others answer.
S9.coordinate `coordinate()` raises for no failing strategy.
S9.nothing Nothing found is an empty result without failures.
S9.raised When every strategy failed and there is nothing to return, `assemble()` raises
    `NothingAnsweredError`.
S9.inherited Where something was inherited or read before, it is returned although every strategy
    failed, and says `degraded`.
S9.degraded On request it returns an empty payload that says `degraded`.
S10 What fails, has an open circuit or lacks its backends falls to the next of the chain.
S10.outside A strategy outside the chain falls to the best member below its quality.
S10.deadline The chain is tried within the deadline only.
S10.default `default_strategy` runs when no candidate qualifies.
S10.disabled The chain may use strategies that are not enabled.
S11 Context variables of the caller are seen inside strategies.
S12 A backend set carries all that strategies may ask; any part may be missing.
S12.flags A mapping of flags says what is available, for strategies that bring their own data.
S13 Enabled is in the list and not switched off in the own table.
S14 ARCE searches text beside vectors, then the graph from their hits.
S14.rollover What a phase leaves unused goes to the others.
S14.plans plan-decision-context needs temporal and graph.

## Fusion
F1 Duplicates are the same node and the same text up to line ends.
F1.stays The most relevant stays, then the hotter, the newer, then by text.
F1.merged The one that stays remembers where all the others came from.
F1.uris The same text under two URIs stays two.
F2 A score is the weighted sum over relevance, tier, recency and plan, scaled to the best one.
F2.tier Tiers count 1, a half and nothing.
F2.recency Recency halves every 30 days against the newest fragment or `as_of`.
F2.plan Nearness to the plan halves with each step; the focus counts 1.
F2.resource Resource affinity exists and weighs nothing by default.
F2.weights Only the ratios of the weights matter.
F2.round Scores are scaled per result set before they are rounded to 6 places.
F2.none Without weights relevance alone ranks.
F3 What does not fit is passed over and never a stop.
F3.order Packing goes by tier, score, relevance, depth, size, node and text.
F3.tier Tier priority is the pipeline's default and not that of the engine alone.
F3.steps Lower renderings of a misfit are tried in the configured steps.
F3.least The least size bounds lower renderings only.
F4 A lower rendering comes from the pool or from the source of renderings, and provenance stays.
F5 There is no exact packer; asking for one is refused with a pointer to the reason.
F6 A fragment larger than the whole budget is read lower or left out with its numbers.
F7 Every candidate left out is in the ledger once, with a typed reason and its numbers.
F7.next The ledger says how many tokens more would admit the next one.
F8 Renderings of one node at one place are a depth conflict; other places are other texts.
F9 A text inside a packed text of the same resource is left out as contained.
F10 Without a request the deepest rendering stays.
F10.level A level takes the deepest rendering at or below it, deeper by the boost for hot, else the
    shallowest.
F11 Where weights are set, the evidence of several strategies for a node adds up; else the highest
    stays.

## Skeletons and inheritance
K1 The ratio service removes a fraction, exact in decimals, and returns fragments and metadata.
K1.sorted Its output is sorted by relevance, then by fragment id.
K1.tokens The component fits tokens, hard, and returns a payload.
K2 Both skip what does not fit and go on.
K2.best From a non-empty input the ratio service always keeps the best fragment.
K2.range A ratio that is no number from 0 to 1 is a ValueError.
K3 Decisions are kept first, then the hot tier, then what is near the child's focus.
K3.near Near is the same node or resource, or one hop away where there is a graph.
K3.lower A fragment is rendered lower before it is dropped.
K4 A skeleton takes at most 15 % of the child's tokens and what the ratio leaves of the parent's.
K4.ratio The ratio is the request's, else the plan's, else the project's.
K4.receipt The metadata go on the child's plan and the fragments come out as `skeleton_fragments`.
K4.repeat What the child fetched itself is never inherited again.
K4.full `full` has no such cap and falls back to a skeleton with the remainder in the ledger.
K4.default A parent's context means `skeleton` unless said otherwise.
K4.apart The parent is never changed, and siblings never see each other's.

## Backends
B1 Backends keep four protocols, and hits say where they come from and how to get their text.
B1.calls Backends are called as the rulings say, with filters by keyword only.
B1.async A backend or strategy without coroutines runs in a worker and never blocks the loop.
B1.suites Declared capabilities choose the cases of a compliance suite, which a stranger runs in
    ten lines.
B2 Text of users is never query syntax, and what stands in a text is found.
B3 Writing is idempotent by id and replaces content and metadata whole.
B3.id Without an id one is made of source, location and content.
B4 Metadata comes back equal to what went in.
B5 A scope is a set of prefixes matched by whole path segments.
B5.target A hop respects the scope at its target too.
B6 Walks end on cycles, visit once, bound hubs and order by distance.
B6.popular Being linked from everywhere is worth nothing by itself.
B6.walk A walk through any graph ends, visits each node once and never leaves its scope.
B6.lots Which of a hub's edges a limit keeps does not depend on what was written first.
B6.random Edges of any graph lead to what is there and in scope, each once.
B7 The file key's default embedder is `character-frequency-v1`, deterministic and without
    dependencies.
B7.chosen wordllama is chosen when it is installed; without any embedder there are no vectors and
    one warning.
B7.foreign Embeddings of other libraries are taken by their shape.
B7.recorded The store records its embedder; another one is an error that names both.
B7.sizes Vectors of another size are an error that names both sizes.
B7.others Where vectors do not fit the embedder, other strategies still answer.
B7.threshold The similarity threshold is raw cosine, 0.5 for character frequencies and else 0 or
    the embedder's.
B8 The SQLite file is the truth; opening brings the vectors into step with it.
B8.stale A reader sees what another process wrote.
B8.kill A process that is killed at any moment loses nothing that was committed, and the index can
    be finished.
B8.readers Readers beside a writer see each commit whole at their next question.
B8.writers A second writer waits and then says for whom.
B8.readonly A folder that may only be read can be read, vectors and all.
B8.threads Threads get the answers that one thread gets.
B8.loops Event loops one after the other, at once and in several threads get the answers of a
    plain call.
B8.order What a store answers depends on what it holds, not on how it came to hold it.
B8.leaks No thread, file or client is left behind.
B8.migration A store of an older version is lifted with all it holds.
B8.newer A store of a newer version is refused by name and left untouched.
B8.full Where there is no room, a write is a clear error and the store is as before.
B9 The text index has fields of their own weights, and words are stemmed and identifiers split and
    joined.
B9.kept It keeps what ranking needs later: lengths and averages, titles and symbols.

## Time
T1 A window is a number of days, weeks, months or years, or all; anything else is a clear error.
T1.clock The clock is injectable, read once and recorded in the payload.
T2 `as_of` shows plans and decisions as they stood.
T2.index Content of the index that changed is replaced, not versioned.
T3 Decisions of living plans are warm, those of completed plans cold.

## Adapters
A1 LangChain: the joined page contents are within the budget, and `k` is an upper bound.
A2 LlamaIndex: the nodes' text as a model reads it is within the budget.
A2.whole Ids, types, relationships and metadata survive, and inputs never change.
A2.score A missing score is that of the node before, and the first counts 1.
A2.order The order of the input stays unless told otherwise.
A3 Inherited context is one fenced block in the one leading system message, replaced each turn.
A3.fence No text of a document can close the fence.
A3.message What an agent retrieved itself may stand in a message that is not kept.
A4 Empty resource types mean all; a list has different, non-empty names.
A5 The ledger reaches adapters that return lists, by events and by a call.
A6 An unknown model is counted by a named fallback a fifth higher, and that is said.

## Indexing
I1 Renderings are made at index time, each contains the one before, and each is shorter than the
    next.
I1.code Code has names, signatures, docstrings, short bodies and full source.
I1.prose Prose has title, outline, outline with lead sentences and full text.
I1.searched All text of a file is searched once.
I2 The graph holds containment, reference and sequence, from code, links and frameworks' relations.
I3 `.gitignore` is respected; secrets, binaries and links that lead outside are left out with the
    reason.

## Command line and configuration
C1 The documented commands exist.
C1.layers A project's file lies over the user's key by key and replaces `enabled` whole.
C1.unknown Unknown keys are errors that name the near one.
C1.json Every command prints JSON on request.
C1.options A custom strategy declares its options in its `options_model`.
C2 A project's file may name code to import only where it is trusted.
C3 `spec` is the documents' defaults; `tuned`, the default, differs in named ways only.
"""
