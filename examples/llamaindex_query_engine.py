"""A query engine whose context fits: a number of tokens, or all that one call can take.

Needs the extra `llama-index`. Runs offline with a scripted model; with OPENAI_API_KEY or
ANTHROPIC_API_KEY set and the model's LlamaIndex package installed, with a real one.
"""

from __future__ import annotations

from llama_index.core import VectorStoreIndex, get_response_synthesizer
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode
from llamaindex_model import LetterEmbedding, language_model, text_nodes

from acms_adapters import token_counter
from acms_adapters.llamaindex import ACMSNodePostprocessor, budget_for

QUESTION = "Do sessions outlive a deploy of the servers?"


def main() -> None:
    """Answer from forty tokens, then from as many as one call of the model takes."""
    index = VectorStoreIndex(text_nodes(), embed_model=LetterEmbedding())
    retriever = index.as_retriever(similarity_top_k=5)
    model = language_model("Yes, they do.", "Yes: they live in Redis.")
    synthesizer = get_response_synthesizer(model, response_mode="compact")
    room = budget_for(synthesizer, QUESTION)
    for tokens in (40, room):
        fit = ACMSNodePostprocessor(max_tokens=tokens, order="relevance", min_fragment_tokens=8)
        engine = RetrieverQueryEngine(retriever, synthesizer, node_postprocessors=[fit])
        response = engine.query(QUESTION)
        texts = [node.node.get_content(MetadataMode.LLM) for node in response.source_nodes]
        read = token_counter().count("\n\n".join(texts))
        print(f"read {read} of {tokens} tokens: {response}")
        for node in response.source_nodes:
            part = "a part of " if "acms" in node.node.metadata else ""
            print(f"  {part}{node.node.node_id}")
        for entry in fit.explain(retriever.retrieve(QUESTION), QUESTION).ledger.entries:
            print(f"  without {entry.uko_node}: {entry.explain()}")


if __name__ == "__main__":
    main()
