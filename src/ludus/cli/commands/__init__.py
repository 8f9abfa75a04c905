"""One module a subject; each command is a frozen struct of its arguments with a ``run``."""
