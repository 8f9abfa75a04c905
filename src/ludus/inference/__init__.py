"""Decisions for matches that another process plays: requests, clients without torch, and servers."""
