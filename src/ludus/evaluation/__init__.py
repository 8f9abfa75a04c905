"""Evaluation: whole matches between players, their results, tournaments."""
