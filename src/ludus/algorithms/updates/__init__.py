"""An update of parameters: samples, minibatches, gradients, optimiser."""
