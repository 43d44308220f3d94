"""The suites find what is wrong: each break of a plain backend or strategy fails its case."""

import pytest

pytest_plugins = ["pytester"]

HEAD = """
from dataclasses import replace
from acms_adapters.models import *
from acms_adapters.testing import *
from acms_strategies.simple_keyword import SimpleKeywordStrategy
"""

TEXT = """
class Broken(PlainText):
    def search(self, query, *, max_results=20, scope=None, resource_types=None,
               metadata_filter=None):
        {body}

class TestBroken(TextBackendCompliance):
    capabilities = TextBackendCompliance.capabilities - {{"identifiers", "stemming"}}
    def make_backend(self, documents):
        return Broken(documents)
"""
FULL = (
    "super().search(query, max_results=max_results, scope=scope, resource_types=resource_types,"
    " metadata_filter=metadata_filter)"
)

VECTOR = """
class Broken(PlainVectors):
    def similarity_search(self, embedding, *, top_k=20, scope=None, resource_types=None,
                          metadata_filter=None, min_similarity=0.0):
        {body}

class TestBroken(VectorBackendCompliance):
    def make_backend(self, documents, vectors):
        return Broken(documents, vectors)
"""
NEAR = (
    "super().similarity_search(embedding, top_k=top_k, scope=scope,"
    " resource_types=resource_types, metadata_filter=metadata_filter,"
    " min_similarity=min_similarity)"
)

GRAPH = """
class Broken(PlainGraph):
    def neighbors(self, nodes, *, direction="both", relations=None, limit=None, scope=None):
        {body}

class TestBroken(GraphBackendCompliance):
    def make_backend(self, documents, edges):
        return Broken(documents, edges)
"""

TEMPORAL = """
class Broken(PlainTemporal):
    def {body}

class TestBroken(TemporalBackendCompliance):
    def make_backend(self, clock):
        return Broken(clock)
"""

STRATEGY = """
class Broken(SimpleKeywordStrategy):
    def assemble(self, request, backends, budget, plan_context):
        found = super().assemble({request}, backends, budget, plan_context)
        {body}

class TestBroken(StrategyCompliance):
    def make_strategy(self):
        return Broken()
"""

BREAKS = [
    (TEXT, "return eval(query) if query == 'NOT' else " + FULL, "b2_no_text"),
    (TEXT, f"return {FULL}[::-1]", "more_of_the_words_are_better"),
    (TEXT, f"return {FULL}[:2]", "at_most_as_many"),
    (TEXT, f"return [replace(hit, score=-1.0) for hit in {FULL}]", "m7_scores"),
    (TEXT, f"query = query.encode('ascii', 'ignore').decode(); return {FULL}", "b2_what_stands"),
    (TEXT, f"scope = None; return {FULL}", "b5_a_scope_holds"),
    (
        TEXT,
        "hits = super().search(query, max_results=max_results)\n"
        "        wanted = {hit.uko_node for hit in " + FULL.replace("=max_results", "=999") + "}\n"
        "        return [hit for hit in hits if hit.uko_node in wanted]",
        "b5_a_scope_is_never_emptied",
    ),
    (VECTOR, f"return {NEAR}[::-1]", "m7_the_nearest_is_first"),
    (VECTOR, f"min_similarity = 0.0; return {NEAR}", "b7_the_threshold"),
    (VECTOR, f"resource_types = None; return {NEAR}", "only_wanted_resource_types"),
    (VECTOR, f"metadata_filter = None; return {NEAR}", "b5_filters_hold_together"),
    (VECTOR, f"return [replace(hit, metadata={{}}) for hit in {NEAR}]", "b4_metadata"),
    (
        VECTOR,
        "return [replace(hit, metadata={k: v for k, v in hit.metadata.items() if v is not None})"
        f" for hit in {NEAR}]",
        "b4_a_value_of_every_kind",
    ),
    (
        VECTOR,
        "return [replace(hit, metadata={k: v for k, v in hit.metadata.items() if k != 'document'})"
        f" for hit in {NEAR}]",
        "b4_all_kinds_come_back_together",
    ),
    (TEXT, f"return [hit for hit in {FULL} if len(hit.uko_node) < 999]", "nodes_have_any_name"),
    (TEXT, f"[hit.content.encode() for hit in {FULL}]; return {FULL}", "b4_half_a_surrogate"),
    (TEXT, f"return [hit for hit in {FULL} if len(hit.content) < 9_999]", "a_million"),
    (TEXT, f"return {FULL}[:5000]", "six_thousand"),
    (VECTOR, f"return {NEAR} if len(self._documents._kept) < 5000 else []", "six_thousand"),
    (VECTOR, f"return [replace(hit, provenance=None) for hit in {NEAR}]", "b1_a_hit_says"),
    (VECTOR, f"assert top_k; return {NEAR}", "at_most_as_many"),
    (GRAPH, "return super().neighbors(nodes, direction=direction)", "b6_a_hub"),
    (
        GRAPH,
        "return super().neighbors(nodes, direction=direction, relations=relations, limit=limit)",
        "b5_an_edge",
    ),
    (
        GRAPH,
        "return [edge for edge in super().neighbors(nodes, direction=direction, limit=limit)"
        " if edge in super(Broken, self).neighbors(nodes, scope=scope)]",
        "b5_what_is_out_of_scope",
    ),
    (TEMPORAL, "archive(self, plan_id): return 0", "t3_a_completed_plan"),
    (
        TEMPORAL,
        "query_by_tier(self, tier, **options):\n"
        "        return super().query_by_tier(tier, **{**options, 'as_of': None})",
        "t2_the_past",
    ),
    (
        TEMPORAL,
        "query_by_tier(self, tier, **options):\n"
        "        return super().query_by_tier(tier, **{**options, 'window': None})",
        "t1_a_window",
    ),
    (
        TEMPORAL,
        "record(self, item):\n"
        "        super().record(item if isinstance(item, Plan) else"
        " item.model_copy(update={'supersedes': None}))",
        "t2_a_superseded",
    ),
    (STRATEGY, "return found[::-1]", "best_first"),
    (STRATEGY, "return [*found, *found]", "no_fragment_twice"),
    (STRATEGY, "return found if request.query != '???' else 1 / 0", "b2_no_text"),
    (
        STRATEGY.replace("{request}", 'request.model_copy(update={{"scope": None}})'),
        "return found",
        "b5_nothing_out_of_scope",
    ),
    (
        STRATEGY,
        "import random; return sorted(found, key=lambda one: random.random())",
        "m9_equal_questions or best_first",
    ),
]


QUIET = ("-q", "-p", "no:cacheprovider", "-o", "asyncio_default_fixture_loop_scope=function")


def test_every_break_fails_its_case(pytester: pytest.Pytester) -> None:
    parts = [
        template.format(body=body, request="request").replace("Broken", f"Broken{number}_")
        for number, (template, body, _) in enumerate(BREAKS)
    ]
    pytester.makepyfile(HEAD + "\n".join(parts))
    chosen = [f"(TestBroken{i}_ and ({case}))" for i, (_, _, case) in enumerate(BREAKS)]
    ran = pytester.inline_run(*QUIET, "-k", " or ".join(chosen))
    failed = {report.nodeid.split("::")[1] for report in ran.getfailures() if report.when == "call"}
    missed = [BREAKS[i][1:] for i in range(len(BREAKS)) if f"TestBroken{i}_" not in failed]
    assert missed == []


def test_a_suite_takes_ten_lines_and_skips_what_is_not_declared(pytester: pytest.Pytester) -> None:
    """B1.suites."""
    pytester.makepyfile(
        """
        from acms_adapters.testing import PlainText, TextBackendCompliance

        class TestMyText(TextBackendCompliance):
            capabilities = TextBackendCompliance.capabilities - {"identifiers", "stemming"}

            def make_backend(self, documents):
                return PlainText(documents)
        """
    )
    outcomes = pytester.runpytest_inprocess(*QUIET).parseoutcomes()
    assert outcomes["skipped"] == 5
    assert outcomes["passed"] > 50
    assert not {"failed", "errors"} & outcomes.keys()


def test_a_capability_that_no_suite_knows_is_told(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from acms_adapters.testing import PlainText, TextBackendCompliance

        class TestMyText(TextBackendCompliance):
            capabilities = TextBackendCompliance.capabilities | {"telepathy"}

            def make_backend(self, documents):
                return PlainText(documents)
        """
    )
    result = pytester.runpytest_inprocess(*QUIET, "-k", "b1_it_is")
    result.stdout.fnmatch_lines(["*unknown capabilities*telepathy*"])
