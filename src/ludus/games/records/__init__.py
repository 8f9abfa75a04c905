"""Records of matches: SGF and Go."""
