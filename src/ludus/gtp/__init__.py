"""Go players as GTP engines: the Go Text Protocol, version 2.

- :mod:`ludus.gtp.protocol`: lines in, answers out;
- :mod:`ludus.gtp.session`: the match of a controller: set up, play, undo;
- :mod:`ludus.gtp.engine`: the commands;
- :mod:`ludus.gtp.players`: the players that choose moves (a bot, a network, a search);
- :mod:`ludus.gtp.driver`: the other side: programs that speak GTP, and matches between them.
"""
