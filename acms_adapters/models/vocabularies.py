"""The files tiktoken's encodings are made of.

tiktoken names a cached file by the SHA-1 of its address and checks it by the SHA-256 given here.
"""

_BLOBS = "https://openaipublic.blob.core.windows.net"
_P50K = {
    f"{_BLOBS}/encodings/p50k_base.tiktoken": (
        "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069"
    )
}
_O200K = {
    f"{_BLOBS}/encodings/o200k_base.tiktoken": (
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
    )
}

VOCABULARIES: dict[str, dict[str, str]] = {
    "gpt2": {
        f"{_BLOBS}/gpt-2/encodings/main/vocab.bpe": (
            "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"
        ),
        f"{_BLOBS}/gpt-2/encodings/main/encoder.json": (
            "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"
        ),
    },
    "r50k_base": {
        f"{_BLOBS}/encodings/r50k_base.tiktoken": (
            "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"
        )
    },
    "p50k_base": _P50K,
    "p50k_edit": _P50K,
    "cl100k_base": {
        f"{_BLOBS}/encodings/cl100k_base.tiktoken": (
            "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
        )
    },
    "o200k_base": _O200K,
    "o200k_harmony": _O200K,
}
"""Encoding to the address and the digest of each of its files."""
