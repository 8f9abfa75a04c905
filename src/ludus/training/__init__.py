"""The composition root: presets, runner, evaluation, reports."""
