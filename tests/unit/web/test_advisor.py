"""Hints hold nothing that the seat does not see."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ludus.games import spec as spec_of
from ludus.games.match import Match
from ludus.policies.config import EncoderConfig
from ludus.policies.factory import build_network
from ludus.web.analysis.advisor import MOST_ASKED, SEARCH, Advisor, advisor_of
from ludus.web.serve.messages import Hint, HintView
from ludus.web.thoughts.network import NetworkMind
from ludus.web.thoughts.resolve import mind_of
from ludus.web.thoughts.thought import ThinkError

OWN = EncoderConfig(hidden=(8,), dense=(8,))
CENTRAL = EncoderConfig(hidden=(8,), dense=(8,), critic="own", critic_sees="all")


def advisor(game: str, config: EncoderConfig = OWN) -> Advisor:
    network = build_network(config, spec_of(game), seed=1)
    return Advisor("me", lambda: NetworkMind(network, "me", 1))


def deals() -> Sequence[Match]:
    """Matches of Kuhn poker in which seat 0 holds a jack, and seat 1 a queen or a king."""
    matches = [Match("kuhn_poker", seed=seed) for seed in range(1, 60)]
    jacks = [match for match in matches if match.view()["cards"][0] == 0]
    assert {match.view()["cards"][1] for match in jacks} == {1, 2}
    return jacks


def test_equal_observations_give_equal_hints() -> None:
    me = advisor("kuhn_poker")
    found = [me.advise(match, Hint(0)) for match in deals()]
    assert all(hint == found[0] for hint in found)
    assert found[0].value is not None
    assert len(found[0].heads[0]) == 2


def test_a_value_that_depends_on_other_seats_is_not_given() -> None:
    me = advisor("kuhn_poker", CENTRAL)
    found = [me.advise(match, Hint(0)) for match in deals()]
    assert all(hint == found[0] for hint in found)
    assert found[0].value is None


def test_a_search_advises_only_where_nothing_is_hidden() -> None:
    kuhn, four = spec_of("kuhn_poker"), spec_of("connect_four")
    assert advisor_of(kuhn, {}, [], searches=True) is None
    found = advisor_of(four, {}, [], searches=True)
    assert found is not None
    assert found.name == SEARCH
    mind = mind_of("mcts:9", four, {})
    with pytest.raises(ThinkError, match="sees what the seat does not"):
        Advisor("x", lambda: mind).advise(Match("kuhn_poker"), Hint(0))


def test_a_value_alone_names_no_choice() -> None:
    found: HintView = advisor("connect_four").advise(Match("connect_four"), Hint(0, value_only=True))
    assert found.value is not None
    assert (found.heads, found.line, found.wins) == ((), (), True)


def test_a_page_that_asks_too_often_is_refused() -> None:
    me = advisor("connect_four")
    assert me.refusal() == ""
    me._asked = MOST_ASKED
    assert "on its way" in me.refusal()
