"""Learner of methods with a policy and a value: epochs of minibatches over one slab."""
