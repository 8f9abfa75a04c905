"""DQN: Q-learning from a replay buffer of slabs."""
