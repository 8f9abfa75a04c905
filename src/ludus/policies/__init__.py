"""Networks and what they act by: encoders, memory, heads, weights files."""
