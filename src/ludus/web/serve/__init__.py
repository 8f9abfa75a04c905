"""The server of pages: live matches, replays and runs, for a browser on this machine.

Needs the extra ``[web]``. :mod:`ludus.web.serve.messages` has the messages of a live match,
:mod:`ludus.web.serve.session` the thread that owns one, :mod:`ludus.web.serve.app` the routes.
"""

from __future__ import annotations
