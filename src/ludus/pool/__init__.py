"""Many matches at once behind one protocol."""
