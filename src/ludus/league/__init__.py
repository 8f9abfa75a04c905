"""Leagues: who plays whom, when a player is frozen, from what it goes on. Decisions only, no torch, no file.

``League.apply(event) -> effects`` holds the state (``league``); ``events`` says what goes in and comes out.
``payoff`` counts results, ``matchmaking``, ``freezing``, ``origin`` and ``populations`` are the rules,
``roles`` names choices of them, ``config`` holds their settings and ``checks`` refuses wrong ones. ``orders``
draws opponents and credits results. The journal of events is ``ludus.storage.journal``.
"""
