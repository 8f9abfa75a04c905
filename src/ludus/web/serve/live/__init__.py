"""Texts of a live match for people: its explanation, the names of its players, its end."""
