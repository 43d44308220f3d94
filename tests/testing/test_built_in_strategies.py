"""The six built-in strategies pass the suite."""

from acms_adapters.protocols import ContextStrategy
from acms_adapters.testing import StrategyCompliance
from acms_strategies.arce import ArceStrategy
from acms_strategies.breadth_depth_navigator import BreadthDepthNavigatorStrategy
from acms_strategies.plan_decision_context import PlanDecisionContextStrategy
from acms_strategies.semantic_embedding import SemanticEmbeddingStrategy
from acms_strategies.simple_keyword import SimpleKeywordStrategy
from acms_strategies.temporal_archaeology import TemporalArchaeologyStrategy


class TestSimpleKeyword(StrategyCompliance):
    """S5, B2, B5, B6, M9."""

    def make_strategy(self) -> ContextStrategy:
        return SimpleKeywordStrategy()


class TestSemanticEmbedding(StrategyCompliance):
    """S5, B2, B5, B6, M9."""

    def make_strategy(self) -> ContextStrategy:
        return SemanticEmbeddingStrategy()


class TestBreadthDepthNavigator(StrategyCompliance):
    """S5, B2, B5, B6, M9."""

    def make_strategy(self) -> ContextStrategy:
        return BreadthDepthNavigatorStrategy()


class TestArce(StrategyCompliance):
    """S5, B2, B5, B6, M9."""

    def make_strategy(self) -> ContextStrategy:
        return ArceStrategy()


class TestTemporalArchaeology(StrategyCompliance):
    """S5, B2, B5, B6, M9."""

    def make_strategy(self) -> ContextStrategy:
        return TemporalArchaeologyStrategy()


class TestPlanDecisionContext(StrategyCompliance):
    """S5, B2, B5, B6, M9."""

    def make_strategy(self) -> ContextStrategy:
        return PlanDecisionContextStrategy()
