"""Processes of this machine that make every update together with the run's: more cores for one learner."""
