"""Policy gradient: Monte-Carlo returns with a value, a mean or no baseline."""
