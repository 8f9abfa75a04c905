"""APPO: PPO clipping with V-trace corrected advantages."""
