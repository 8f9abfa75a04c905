"""Rollouts that come and go during a run: which of them plays which part of the matches."""
