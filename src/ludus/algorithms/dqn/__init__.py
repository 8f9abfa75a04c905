"""DQN: Q-learning from a ring of slabs."""
