"""The command line ``ludus``: names, options, messages. A command imports what it needs, and only then."""
