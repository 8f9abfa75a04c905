"""Names of rule sets of Go, as programs and servers write them in ``RU`` of a record.

This is the one place that decides which rules a name means, for the moves, the counting and the komi.
The tables give the rules as parameters of the game ``go``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

#: Whole words, in small letters: names of GTP engines, servers and countries.
_WORDS = {
    "chinese": ("cn", "chn", "prc", "zh"),
    "japanese": ("jp", "jap", "jpn", "ja", "nihon"),
    "korean": ("kr", "kor", "ko"),
    "new-zealand": ("nz", "nzl"),
    "tromp-taylor": ("tt", "logical"),
    "ing": ("ing", "ings", "goe", "sst"),
    "aga": ("aga", "usa", "us", "american"),
    "bga": ("bga", "british"),
    "french": ("ffg", "fr"),
}
#: Starts of a word; of ``new zealand`` and ``tromp taylor`` also over two words.
_STARTS = {
    "chinese": ("chin", "中"),
    "japanese": ("japan", "日"),
    "korean": ("korea", "韩", "韓", "한국"),
    "new-zealand": ("newzealand",),
    "tromp-taylor": ("tromp",),
    "ing": ("应", "應"),
    "french": ("french", "franc"),
}
#: Names of rule sets that KataGo knows and that count area, as parameters.
NAMED: Mapping[str, Mapping[str, str]] = {
    "tromp-taylor": {"ko": "positional", "suicide": "allowed", "scoring": "tromp_taylor"},
    "chinese": {"ko": "simple", "suicide": "forbidden", "scoring": "chinese"},
    "chinese-ogs": {"ko": "positional", "suicide": "forbidden", "scoring": "chinese"},
    "chinese-kgs": {"ko": "positional", "suicide": "forbidden", "scoring": "chinese"},
    "new-zealand": {"ko": "situational", "suicide": "allowed", "scoring": "tromp_taylor"},
}
#: Ko and suicide of other rule sets, which only records are replayed by: their counting is not supported.
REPLAYED: Mapping[str, Mapping[str, str]] = {
    "japanese": {"ko": "simple", "suicide": "forbidden"},
    "korean": {"ko": "simple", "suicide": "forbidden"},
    "aga": {"ko": "situational", "suicide": "forbidden"},
    "bga": {"ko": "situational", "suicide": "forbidden"},
    "french": {"ko": "situational", "suicide": "forbidden"},
    "ing": {"ko": "situational", "suicide": "allowed"},
}
_LETTERS = re.compile(r"[^\W\d_]+")


def rule_set(text: str) -> str:
    """Return the rule set that ``text`` names: ``chinese``, ``japanese``, ...; empty if it is not known.

    Case, width and marks make no difference: ``CN``, ``Chinese``, ``chinese-ogs`` and ``中国规则`` are one.
    """
    plain = unicodedata.normalize("NFKC", text[:200]).casefold()
    words = _LETTERS.findall(plain)
    for number, word in enumerate(words):
        pair = "".join(words[number : number + 2])
        for name, starts in _STARTS.items():
            if word.startswith(starts) or (name == "new-zealand" and pair.startswith(starts)):
                return name
        for name, known in _WORDS.items():
            # Short names stand first: "us" within a sentence is a word.
            if number == 0 and word in known:
                return name
    return ""
