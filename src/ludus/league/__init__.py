"""Leagues and matchmakers: opponents, freezes, and the weights that members continue from.

Decisions only, no torch, no file. ``League.apply(event) -> effects`` holds the state (``league``); ``events``
lists its inputs and outputs. ``payoff`` counts results, ``meeting``, ``freezing``, ``origin`` and
``populations`` are the rules, ``roles`` names choices of them, ``config`` holds their settings and ``checks``
refuses wrong ones. ``orders`` draws opponents and attributes results. ``matchmaker`` is the protocol of all
runs, ``league_matchmaker`` the matchmaker of a league's member. The package ``rules`` asks rules of one's own
and checks their answers; :mod:`ludus.presets.rule_file` loads them. The journal of events is
``ludus.storage.journal``.
"""
