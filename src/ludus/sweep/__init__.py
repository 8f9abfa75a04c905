"""Sweeps: many runs of one preset under different settings and seeds."""
