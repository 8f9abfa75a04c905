"""The training of methods that learn from slabs: sampler, learner threads, trainer."""
