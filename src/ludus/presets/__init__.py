"""Presets: one TOML file that reproduces a run; its structs, reader and checks."""
