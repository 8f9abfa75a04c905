"""Learning from recorded matches: what a data set gives a run in place of matches that are played."""
