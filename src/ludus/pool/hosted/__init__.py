"""Pools of games in worker processes."""
