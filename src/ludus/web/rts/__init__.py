"""Matches on a map with units: their view documents, and what the page and videos make of them."""
