"""Behaviour cloning: the policy learns the decisions of another player."""
