"""All benchmarks, one after the other. They inform; nothing depends on their figures.

    python tests/benchmarks/run.py [--quick]

Quick ones take a few minutes together: nothing is indexed for them.
"""

import runpy
import sys
from pathlib import Path

QUICK = (
    ("Compressing, fusing and coordinating", "bench_components"),
    ("Fusing", "bench_fusion"),
)
BENCHMARKS = (
    ("Indexing a real code base", "bench_index"),
    ("Asking it", "bench_query"),
    *QUICK,
    ("Fitting LlamaIndex nodes", "bench_postprocessor"),
    ("The SQLite store at two sizes", "bench_sqlite"),
    ("A whole store at growing sizes", "bench_store"),
    ("One assembly by stage, at growing sizes", "bench_stages"),
    ("Asking a LangChain retriever, beside an ensemble", "bench_retriever"),
    ("Evidence by budget, beside other libraries", "bench_evidence"),
)


def main() -> None:
    """Run them."""
    for title, name in QUICK if "--quick" in sys.argv else BENCHMARKS:
        print(f"\n{title}\n{'-' * len(title)}", flush=True)
        runpy.run_path(str(Path(__file__).with_name(f"{name}.py")), run_name="__main__")


if __name__ == "__main__":
    main()
