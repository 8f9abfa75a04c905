"""The training of AlphaZero: self-play workers, trainer, gate."""
