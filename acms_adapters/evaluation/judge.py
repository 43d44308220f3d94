"""Says what a context holds of the evidence for a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acms_adapters.evaluation.dataset import Dataset, Question
from acms_adapters.evaluation.entries import passage_of, pieces_of
from acms_adapters.evaluation.measures import (
    Evidence,
    ReadText,
    has_answer,
    ndcg,
    precision_per_token,
    share_located,
    share_read,
)
from acms_adapters.evaluation.result import Row
from acms_adapters.models import ContextPayload


class Judge:
    """Knows what should be read for each question of a data set.

    Args:
        dataset: The data set.
        resources: The file or page that a passage stands in; itself where none is given.
    """

    def __init__(self, dataset: Dataset, resources: Mapping[str, str] | None = None) -> None:
        self._passages = {passage.id: passage for passage in dataset.passages}
        self._resources = resources or {}

    def evidence(self, question: Question) -> tuple[Evidence, ...]:
        """Texts that should be read."""
        found = [self._passages[passage] for passage in question.evidence]
        return tuple(
            Evidence(
                passage=passage.id,
                resource=self._resources.get(passage.id, passage.id),
                pieces=pieces_of(passage),
            )
            for passage in found
        )

    def row(
        self,
        question: Question,
        texts: Sequence[ReadText],
        *,
        tokens: int,
        ranking: Sequence[str],
    ) -> Row:
        """Measure one context.

        Args:
            texts: What is read.
            tokens: Tokens of all of it as one string.
            ranking: Ids of passages, best first, those included that are not read.
        """
        evidence = self.evidence(question)
        read = share_read(evidence, texts)
        return Row(
            question=question.id,
            read=read,
            located=share_located(evidence, texts),
            all_read=float(read == 1.0),
            answered=has_answer(question.answers, "\n".join(text.text for text in texts)),
            precision=precision_per_token(evidence, texts),
            tokens=tokens,
            ndcg_10=ndcg(ranking, question.evidence),
        )

    def payload_row(self, question: Question, payload: ContextPayload) -> Row:
        """Measure a payload."""
        texts = [
            ReadText(
                passage=passage_of(fragment.uko_node, self._passages),
                resource=fragment.provenance.resource_uri,
                text=fragment.content,
                tokens=fragment.token_count,
            )
            for fragment in payload.fragments
        ]
        ranking = self.ranking(payload)
        return self.row(question, texts, tokens=payload.rendered_tokens, ranking=ranking)

    def ranking(self, payload: ContextPayload) -> list[str]:
        """Passages by relevance, those that were left out included."""
        rated = [(f.relevance_score, f.uko_node) for f in payload.fragments]
        rated += [(e.relevance_score, e.uko_node) for e in payload.ledger.entries]
        rated.sort(key=lambda pair: (-pair[0], pair[1]))
        passages = (passage_of(node, self._passages) for _, node in rated)
        return list(dict.fromkeys(filter(None, passages)))
