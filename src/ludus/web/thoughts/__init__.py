"""Thoughts of a player about the positions of a match, recorded or live.

``ludus.web.thoughts.replayed.thoughts_of(replay, text)`` gives the thoughts of a whole match, and
``ludus.web.thoughts.live.Onlooker`` one decision of a match in play. A page shows them
(``ludus.web.thoughts.page``). Only the modules that load weights import torch.
"""

from __future__ import annotations
