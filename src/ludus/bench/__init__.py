"""Measurements of simulation, search and training speed on this machine."""
