"""Checks of values, texts and files from outside, and how they are shown."""
