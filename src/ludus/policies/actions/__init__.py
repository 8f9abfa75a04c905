"""Action distributions, their heads and draws."""
