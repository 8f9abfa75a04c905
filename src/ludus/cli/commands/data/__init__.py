"""``ludus data``: sets of recorded matches."""
