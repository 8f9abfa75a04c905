"""Rollouts on many machines, by Ray. Nothing outside this package imports Ray."""
