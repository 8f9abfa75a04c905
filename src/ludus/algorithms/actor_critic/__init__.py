"""What methods with a policy and a value share: epochs of minibatches over one slab."""
