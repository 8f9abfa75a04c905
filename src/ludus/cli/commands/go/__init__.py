"""``ludus go``: OpenGo's analyses, one file a command."""
