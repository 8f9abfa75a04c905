"""Policy networks: encoders, memory, heads, action distributions, weights files."""
