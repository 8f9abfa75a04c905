"""Inference servers on a cluster: processes that decide for thin rollouts, replaced when they die."""
