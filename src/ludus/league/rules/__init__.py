"""Rules of one's own: code outside of Ludus that decides for a member of a league.

``rule`` is the protocol, ``view`` the view that a rule has. ``checked`` calls it and refuses wrong answers,
``asking`` makes events of the answers, ``audit`` compares a journal with them. ``registry`` has the rules of
installed packages.
"""
