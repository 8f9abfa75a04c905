"""Pictures of matches of games written in Python: drawn by the game, kept as a film, shown on pages.

A separate process plays (:mod:`ludus.web.frames.worker`), since the game's code may hang, print or end its
process. The page and the video take the film as view documents of the renderer ``frames``.
"""
