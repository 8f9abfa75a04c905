"""Imitation: behaviour cloning of a player, or of recorded matches."""
