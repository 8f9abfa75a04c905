"""The command line ``ludus``: names, options, messages. A command imports its dependencies when it runs."""
