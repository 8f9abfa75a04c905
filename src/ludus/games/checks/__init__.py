"""Conformance of games: rules, observations, records and vector forms."""
