"""Rules of Go by KataGo's names, and as the parameters of the game ``go``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from ludus.flow.inputs.decode import from_json
from ludus.games.go_rules import NAMED, REPLAYED, rule_set
from ludus.gtp.protocol import GtpError

KO = {"POSITIONAL": "positional", "SITUATIONAL": "situational", "SIMPLE": "simple", "NONE": "none"}
MAX_TEXT = 4096
_DEFAULT: Mapping[str, str] = {"ko": "positional", "suicide": "forbidden", "scoring": "chinese"}

_KATAGO = re.compile(r"ko(POSITIONAL|SITUATIONAL|SIMPLE)score(AREA|TERRITORY).*?sui([01])")
OTHERS = ("japanese", "korean", "aga", "aga-button", "bga", "french", "stone-scoring", "ancient-area")
#: Rules with a single supported value. Keys and values of KataGo's JSON.
FIXED: Mapping[str, object] = {"scoring": "AREA", "tax": "NONE", "hasButton": False}


def to_json(params: Mapping[str, str]) -> str:
    """Return the answer of ``kata-get-rules``."""
    chinese = params["scoring"] == "chinese"
    rules = {
        "friendlyPassOk": chinese,
        "hasButton": False,
        "ko": next(name for name, ours in KO.items() if ours == params["ko"]),
        "scoring": "AREA",
        "suicide": params["suicide"] == "allowed",
        "tax": "NONE",
        "whiteHandicapBonus": "N" if chinese else "0",
    }
    return json.dumps(rules, separators=(",", ":"))


def from_text(text: str, params: Mapping[str, str]) -> dict[str, str]:
    """Return parameters for the argument of ``kata-set-rules``: a name, or JSON.

    Keys missing in the JSON keep the values of ``params``.

    Raises:
        GtpError: The rules are unknown or not supported.
    """
    word = text.strip().lower()
    if word in NAMED:
        return dict(NAMED[word])
    if not word.startswith("{"):
        known = f"expected {', '.join(NAMED)} or JSON"
        raise GtpError(f"rules {word[:40]}: {'not supported; ' if word in OTHERS else ''}{known}")
    if len(text) > MAX_TEXT:
        raise GtpError(f"rules: more than {MAX_TEXT} characters")
    try:
        given = from_json(text)
    except ValueError:
        raise GtpError("rules: not valid JSON") from None
    if not isinstance(given, dict):
        raise GtpError("rules: expected a JSON object")
    return _from_keys(given, from_json(to_json(params)))


def _from_keys(given: Mapping[str, object], now: Mapping[str, object]) -> dict[str, str]:
    unknown = [key for key in given if key not in now]
    if unknown:
        raise GtpError(f"rules: unknown key {str(unknown[0])[:40]}, expected one of {', '.join(now)}")
    rules = {**now, **given}
    for key, value in FIXED.items():
        if rules[key] != value:
            found, played = json.dumps(rules[key])[:40], json.dumps(value)
            raise GtpError(f"rules: {key} {found}: only {played} is supported")
    ko, suicide, bonus = rules["ko"], rules["suicide"], rules["whiteHandicapBonus"]
    if not isinstance(ko, str) or ko not in KO:
        raise GtpError(f"rules: ko {json.dumps(ko)[:40]}: expected one of {', '.join(KO)}")
    if not isinstance(suicide, bool):
        raise GtpError("rules: suicide: expected true or false")
    # Dead stones and the bonus go together here: both are the Chinese count's.
    if "whiteHandicapBonus" not in given and "friendlyPassOk" in given:
        bonus = "N" if given["friendlyPassOk"] else "0"
    if bonus not in ("0", "N"):
        raise GtpError(f'rules: whiteHandicapBonus {json.dumps(bonus)[:40]}: expected "0" or "N"')
    return {
        "ko": KO[ko],
        "suicide": "allowed" if suicide else "forbidden",
        "scoring": "chinese" if bonus == "N" else "tromp_taylor",
    }


def name_of(params: Mapping[str, str]) -> str:
    """Return the name of a rule set for SGF's ``RU``, or its JSON if it has no name."""
    own = {key: params[key] for key in ("ko", "suicide", "scoring")}
    for name, rules in NAMED.items():
        if own == rules:
            return {"tromp-taylor": "Tromp-Taylor", "new-zealand": "NZ"}.get(name, "Chinese")
    return to_json(params)


def of_record(text: str) -> dict[str, str] | None:
    """Return parameters for a record's ``RU``; None if the rules are not known.

    ``scoring`` is left out if the counting is not supported.
    """
    if text.strip().startswith("{"):
        try:
            return from_text(text, _DEFAULT)
        except GtpError:
            return None
    if found := _KATAGO.match(text.strip()):
        own = {"ko": KO[found[1]], "suicide": "allowed" if found[3] == "1" else "forbidden"}
        return own if found[2] == "TERRITORY" else own | {"scoring": "tromp_taylor"}
    name = rule_set(text)
    return dict(NAMED.get(name) or REPLAYED[name]) if name else None


def same(record: Mapping[str, str], params: Mapping[str, str]) -> bool:
    """Whether a record has the rules of ``params``. Chinese rules have several ko rules."""
    if record.get("scoring") == "chinese" == params["scoring"]:
        return params["suicide"] == record["suicide"]
    return all(record.get(key) == params[key] for key in _DEFAULT)


def in_words(params: Mapping[str, str]) -> str:
    """Return rules as the options that set them."""
    return ", ".join(f"{key} = {params[key]}" for key in _DEFAULT if key in params)
