"""OpenGo's analyses of a run, each a command: record with raw lines, tables computed from them, page.

An analysis is a class of :class:`ludus.analyses.analysis.Analysis`: a name, a pure function from raw lines to
tables, and the curves of its page. Units of work (:class:`ludus.analyses.analysis.WorkUnit`) make the lines.
:func:`ludus.analyses.conduct.conduct` carries them out, with several threads, and keeps the lines of finished
units, so that an interrupted analysis continues.

To add one:

1. A module here with a class of ``Analysis`` (``name``, ``title``, ``curves``, ``tables(lines)``) and a
   function that returns its units. Units of matches come from :func:`ludus.analyses.matches.match_units`; any
   other unit is a ``WorkUnit`` whose ``play`` returns lines (dicts of plain values), None if it was stopped
   (``plays=False``: progress counts it as a whole).
2. A line in :data:`ludus.analyses.registry.ANALYSES`.
3. A file in ``cli/commands/go``: a struct of :class:`ludus.cli.commands.go.options.GoOptions` that names its
   settings and calls ``carry_out``; and a line in ``cli/table.py``. Without matches its base is
   ``RecordingOptions``, as in :mod:`ludus.analyses.positions`.

``ludus go show`` and the page know every analysis by its tables alone.
"""
