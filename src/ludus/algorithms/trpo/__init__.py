"""TRPO: natural gradient steps of a bounded divergence."""
