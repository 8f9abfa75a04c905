"""Measures how fast this machine simulates, learns and searches."""
