"""How many machines a run needs, from measured rates: formulas and a simulation. The modules need no Ray."""
