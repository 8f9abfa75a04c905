"""A2C: T-step returns and clipped importance weights, as in ELF."""
