"""Members of a league in processes of a Ray cluster: each learns there, and plays there or on rollouts."""
