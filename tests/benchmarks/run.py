"""All benchmarks, one after the other. They inform; nothing depends on their figures."""

import runpy
from pathlib import Path

BENCHMARKS = (
    ("Indexing a real code base", "bench_index"),
    ("Asking it", "bench_query"),
    ("Fusing", "bench_fusion"),
    ("Fitting LlamaIndex nodes", "bench_postprocessor"),
    ("The SQLite store at two sizes", "bench_sqlite"),
    ("A whole store at two sizes", "bench_store"),
    ("Asking a LangChain retriever, beside an ensemble", "bench_retriever"),
    ("Evidence by budget, beside other libraries", "bench_evidence"),
)


def main() -> None:
    """Run them."""
    for title, name in BENCHMARKS:
        print(f"\n{title}\n{'-' * len(title)}", flush=True)
        runpy.run_path(str(Path(__file__).with_name(f"{name}.py")), run_name="__main__")


if __name__ == "__main__":
    main()
