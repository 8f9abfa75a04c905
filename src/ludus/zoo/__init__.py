"""Trained players that come with Ludus: ``NAME.safetensors`` (weights) and ``NAME.toml`` (its card).

The files are data; :mod:`ludus.storage.zoo` reads them.
"""
