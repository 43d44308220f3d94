"""The six built-in strategies; they are found like anybody's, by their entry points."""

from acms_strategies.arce import ArceOptions, ArceStrategy
from acms_strategies.breadth_depth_navigator import (
    BreadthDepthNavigatorStrategy,
    NavigatorOptions,
)
from acms_strategies.plan_decision_context import DecisionOptions, PlanDecisionContextStrategy
from acms_strategies.semantic_embedding import EmbeddingOptions, SemanticEmbeddingStrategy
from acms_strategies.simple_keyword import KeywordOptions, SimpleKeywordStrategy
from acms_strategies.temporal_archaeology import ArchaeologyOptions, TemporalArchaeologyStrategy

__all__ = [
    "ArceOptions",
    "ArceStrategy",
    "ArchaeologyOptions",
    "BreadthDepthNavigatorStrategy",
    "DecisionOptions",
    "EmbeddingOptions",
    "KeywordOptions",
    "NavigatorOptions",
    "PlanDecisionContextStrategy",
    "SemanticEmbeddingStrategy",
    "SimpleKeywordStrategy",
    "TemporalArchaeologyStrategy",
]
