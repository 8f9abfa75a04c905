"""Learning: returns, losses, learners. Knows tensors, never a game."""
