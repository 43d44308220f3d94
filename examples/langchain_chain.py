"""LCEL: an ensemble brought down to a budget, and a child chain that inherits.

Needs the extras `langchain` and `legacy` (for the ensemble). Runs offline with a scripted model;
with OPENAI_API_KEY or ANTHROPIC_API_KEY set and the extra `agents` installed, with a real one.
"""

from __future__ import annotations

from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever
from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_model import DOCUMENTS, chat_model

from acms_adapters import token_counter
from acms_adapters.langchain import (
    ACMSDocumentCompressor,
    ACMSRetriever,
    InheritedContext,
    hand_down,
    inheriting,
)

QUESTION = "Where are sessions kept, and why?"


def main() -> None:
    """Answer from a budgeted ensemble, then hand a skeleton to a child chain."""
    words, letters = (
        ACMSRetriever.from_texts(DOCUMENTS.values(), ids=list(DOCUMENTS), embedder=embedder)
        for embedder in (None, "character-frequency-v1")
    )
    retriever = ContextualCompressionRetriever(
        base_compressor=ACMSDocumentCompressor(max_tokens=60),
        base_retriever=EnsembleRetriever(retrievers=[words, letters]),
    )
    prompt = ChatPromptTemplate(
        [("system", "Answer from this alone:\n{context}"), ("human", "{question}")]
    )
    chain = (
        {"context": retriever | joined, "question": RunnablePassthrough()}
        | prompt
        | chat_model("In Redis, so that the web servers stay stateless.")
        | StrOutputParser()
    )
    read = joined(retriever.invoke(QUESTION))
    print(f"read {token_counter().count(read)} of 60 tokens:\n{read}\n")
    print(chain.invoke(QUESTION), "\n")

    skeleton = hand_down(words.assemble(QUESTION), "session decision", tokens=50)
    child = (
        ChatPromptTemplate([("system", "Be brief."), ("human", "{task}")])
        | InheritedContext()
        | chat_model("Decision 7 put the sessions into Redis.")
        | StrOutputParser()
    )
    names = ", ".join(fragment.uko_node for fragment in skeleton.fragments)
    print(f"the child inherits {names}")
    print(child.invoke({"task": "Which decision was it?"}, inheriting(skeleton)))


def joined(documents: list[Document]) -> str:
    """The texts as the model reads them."""
    return "\n\n".join(document.page_content for document in documents)


if __name__ == "__main__":
    main()
