"""What the settings of a preset have to agree on."""
