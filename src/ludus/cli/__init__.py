"""The command line ``ludus``: names, options, messages. Everything heavy is imported by the command that needs it."""
