"""Trackers: sinks that a preset or ``ludus track`` names. They read the files of a run from outside."""
