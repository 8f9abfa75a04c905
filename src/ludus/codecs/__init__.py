"""Codecs: packed observations to the tensors that a network reads."""
