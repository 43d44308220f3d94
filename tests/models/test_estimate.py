"""The count without a vocabulary errs upwards, and not by much."""

import base64
import hashlib
import importlib.metadata
import json
import random
import re
import string
import sysconfig
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.models.estimate import estimate_tokens
from acms_adapters.models.single_tokens import SINGLE_TOKENS
from acms_adapters.tokens import token_counter

assert token_counter("cl100k_base").exact  # brings the vocabulary
CL100K = tiktoken.get_encoding("cl100k_base")

LANGUAGES = {
    "German": "Die Regierung hat beschlossen, die Unterstützung für Haushalte zu verlängern; "
    "außerdem sollen Unternehmen, die von gestiegenen Energiepreisen betroffen sind, Zuschüsse "
    "erhalten.",
    "French": "Le gouvernement a annoncé une série de mesures destinées à soutenir les ménages "
    "les plus modestes, car l'augmentation des prix inquiète déjà de nombreuses familles.",
    "Spanish": "El gobierno anunció un conjunto de medidas destinadas a apoyar a los hogares más "
    "vulnerables, porque el aumento de los precios preocupa a numerosas familias.",
    "Polish": "Rząd ogłosił szereg działań mających na celu wsparcie najuboższych gospodarstw "
    "domowych, ponieważ wzrost cen energii niepokoi wiele rodzin.",
    "Finnish": "Hallitus ilmoitti joukosta toimenpiteitä, joilla tuetaan haavoittuvimmassa "
    "asemassa olevia kotitalouksia, sillä hintojen nousu huolestuttaa monia perheitä.",
    "Turkish": "Hükümet en savunmasız haneleri desteklemeye yönelik bir dizi önlem açıkladı, "
    "çünkü fiyatlardaki artış birçok aileyi endişelendiriyor.",
    "Vietnamese": "Chính phủ đã công bố một loạt biện pháp nhằm hỗ trợ các hộ gia đình dễ bị tổn "
    "thương nhất vì giá cả tăng khiến nhiều người lo lắng.",
    "Russian": "Правительство объявило о ряде мер, направленных на поддержку наиболее уязвимых "
    "домохозяйств, поскольку рост цен беспокоит многие семьи.",
    "Greek": "Η κυβέρνηση ανακοίνωσε σειρά μέτρων για τη στήριξη των πιο ευάλωτων νοικοκυριών.",
    "Arabic": "أعلنت الحكومة عن سلسلة من التدابير لدعم الأسر الأكثر ضعفا بسبب ارتفاع الأسعار.",
    "Hebrew": "הממשלה הודיעה על שורה של צעדים לתמיכה במשקי הבית הפגיעים ביותר.",
    "Hindi": "सरकार ने सबसे कमजोर परिवारों की सहायता के लिए कई उपायों की घोषणा की।",
    "Thai": "รัฐบาลประกาศมาตรการหลายประการเพื่อสนับสนุนครัวเรือนที่เปราะบางที่สุด",
}
EAST_ASIAN = {
    "simplified Chinese": "政府宣布了一系列旨在支持最弱势家庭的措施。自年初以来,"
    "能源价格上涨已超过百分之二十。床前明月光,疑是地上霜。举头望明月,低头思故乡。",
    "traditional Chinese": "政府宣布了一系列旨在支持最弱勢家庭的措施,"
    "能源價格上漲令許多家庭感到擔憂。",
    "Japanese": "政府は最も脆弱な家庭を支援するための一連の措置を発表した。エネルギー価格の上昇は、"
    "多くの家庭を不安にさせている。吾輩は猫である。",
    "Korean": "정부는 가장 취약한 가구를 지원하기 위한 일련의 조치를 발표했다. "
    "에너지 가격 상승은 많은 가정을 불안하게 하고 있다.",
    "a greeting": "你好世界" * 25,
}


def ratio(text: str) -> float:
    return estimate_tokens(text) / max(1, len(CL100K.encode_ordinary(text)))


def pieces(texts: Iterator[str], *, size: int = 1000, most: int = 400) -> list[str]:
    cut = [text[i : i + size] for text in texts for i in range(0, len(text) - size + 1, size)]
    return random.Random(1).sample(cut, min(most, len(cut)))


def sources(*packages: str) -> Iterator[str]:
    for package in packages:
        for folder in ("stdlib", "purelib"):
            for path in sorted((Path(sysconfig.get_path(folder)) / package).rglob("*.py")):
                yield path.read_text(encoding="utf-8", errors="replace")


def descriptions() -> Iterator[str]:
    for package in ("pydantic", "hypothesis", "tiktoken", "pytest", "mypy", "numpy"):
        yield str(importlib.metadata.metadata(package).get_payload())


class TestRunningText:
    @pytest.mark.parametrize("size", [200, 1000, 5000])
    def test_code_is_never_undercounted_and_stays_within_four_fifths(self, size: int) -> None:
        code = pieces(sources("asyncio", "json", "email", "pydantic", "hypothesis"), size=size)
        ratios = sorted(map(ratio, code))
        assert len(ratios) > 100
        assert ratios[0] >= 1.0
        assert ratios[len(ratios) // 2] < 1.7
        assert ratios[len(ratios) * 9 // 10] < 1.8

    def test_prose_is_never_undercounted_and_stays_within_four_fifths(self) -> None:
        ratios = sorted(map(ratio, pieces(descriptions(), size=500)))
        assert len(ratios) > 20
        assert ratios[0] >= 1.0
        assert ratios[len(ratios) // 2] < 1.8

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_other_languages_are_not_undercounted(self, language: str) -> None:
        text = LANGUAGES[language]
        for part in (text, text[: len(text) // 2], text[len(text) // 2 :], text * 9):
            assert 1.0 <= ratio(part) <= 2.4

    @pytest.mark.parametrize("language", EAST_ASIAN)
    def test_chinese_japanese_and_korean_stay_within_four_fifths(self, language: str) -> None:
        text = EAST_ASIAN[language]
        for part in (text, text[: len(text) // 2], text[len(text) // 2 :], text * 9):
            assert 1.0 <= ratio(part) <= 1.8

    def test_names_are_not_undercounted(self) -> None:
        names = (
            "Saadat Hasan Manto, Nguyen Thi Minh Khai, Oluwaseun Adebayo, Wojciech Szczęsny, "
            "Mkhitaryan, Papastathopoulos, Csikszentmihalyi, Lolo Sainz : 1975–1989"
        )
        assert ratio(names) >= 1.0
        assert ratio("- Lolo Sainz : 1975–1989") >= 1.0


class TestData:
    RANDOM = random.Random(3)

    def test_json_with_random_numbers(self) -> None:
        r = self.RANDOM
        for indent in (None, 2, 4):
            rows = [
                {"id": r.randrange(10**9), "x": r.random(), "y": r.gauss(0, 1e3), "n": [r.random()]}
                for _ in range(50)
            ]
            assert 1.0 <= ratio(json.dumps(rows, indent=indent)) <= 1.5

    @pytest.mark.parametrize("size", [9, 12, 30, 100, 999])
    def test_base64(self, size: int) -> None:
        for _ in range(50):
            data = self.RANDOM.randbytes(size)
            for text in (base64.b64encode(data), base64.urlsafe_b64encode(data)):
                assert 1.0 <= ratio(text.decode()) <= 1.9

    @pytest.mark.parametrize("digest", ["md5", "sha1", "sha256", "sha512"])
    def test_hexadecimal_digests(self, digest: str) -> None:
        for _ in range(50):
            text = hashlib.new(digest, self.RANDOM.randbytes(8)).hexdigest()
            assert 1.0 <= ratio(text) <= 1.6
            assert 1.0 <= ratio(text.upper()) <= 1.6
            assert ratio(str(uuid.UUID(bytes=self.RANDOM.randbytes(16)))) >= 1.0

    def test_tables_of_numbers(self) -> None:
        rows = "\n".join(",  ".join(str(n) for n in range(i, i + 9)) for i in range(0, 900, 9))
        assert 1.0 <= ratio(rows) <= 1.5

    def test_emoji(self) -> None:
        text = "😀😃😄🎉👍🏽👩‍💻🇩🇪❤️🔥✨🚀✅❌→∑√≠≤"
        for part in (text, text * 50, " ".join(text), f"done {text} indeed"):
            assert 1.0 <= ratio(part) <= 2.4

    def test_rare_characters_cost_their_bytes(self) -> None:
        r = self.RANDOM
        for low, high in ((0x4E00, 0xA000), (0xAC00, 0xD7A4), (0x20000, 0x2A000)):
            assert ratio("".join(chr(r.randrange(low, high)) for _ in range(200))) >= 1.0


class TestExtremes:
    def test_nothing_is_nothing(self) -> None:
        assert estimate_tokens("") == 0

    @pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 16, 17, 64, 65, 333, 1000])
    def test_runs_of_one_character_are_never_undercounted(self, size: int) -> None:
        letters = [*map(chr, range(0x250)), *"жאعक中の가😀𠀀\u200b\u2028\u3000\ufeff\ufffd"]
        assert [c for c in letters if ratio(c * size) < 1.0] == []

    @pytest.mark.parametrize("letter", ["^", "a", " ", "\n", "中", "1"])
    def test_very_long_runs_are_estimated(self, letter: str) -> None:
        assert ratio(letter * 100_001) >= 1.0
        assert estimate_tokens(letter * 1_000_001) > 9 * estimate_tokens(letter * 100_001)

    def test_half_a_surrogate_pair_is_estimated(self) -> None:
        assert estimate_tokens("x\ud83d") >= 2

    @given(st.text("0123456789 .,-:\n", max_size=200))
    def test_numbers(self, text: str) -> None:
        assert ratio(text) >= 1.0 or not text

    @given(st.text(" \t\n\r\v\f", max_size=200))
    def test_white_space(self, text: str) -> None:
        assert ratio(text) >= 1.0 or not text

    @given(st.text("".join(map(chr, [*range(9), *range(14, 32), 127])), max_size=200))
    def test_control_characters(self, text: str) -> None:
        assert ratio(text) >= 1.0 or not text

    @given(st.text(string.punctuation, max_size=8))
    def test_short_punctuation(self, text: str) -> None:
        assert estimate_tokens(text) + 2 >= len(CL100K.encode_ordinary(text))

    @given(st.text(st.characters(min_codepoint=0x250, exclude_categories=["Cs"]), max_size=60))
    def test_text_beyond_latin(self, text: str) -> None:
        assert ratio(text) >= 1.0 or not text

    @given(st.text(max_size=60), st.text(max_size=60))
    def test_more_text_is_never_fewer_tokens_than_its_longer_half(self, one: str, two: str) -> None:
        whole = estimate_tokens(one + two)
        assert whole + 2 >= max(estimate_tokens(one), estimate_tokens(two))


def test_the_characters_that_are_one_token_are_just_that() -> None:
    class_of_characters = re.compile(f"[{SINGLE_TOKENS}]")
    listed = [chr(i) for i in range(0x80, 0x10000) if class_of_characters.match(chr(i))]
    assert len(listed) > 1000
    assert [c for c in listed if len(CL100K.encode_ordinary(c)) != 1] == []
