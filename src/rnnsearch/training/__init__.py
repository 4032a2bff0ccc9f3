"""Training: loss, optimiser, checkpoints and the loop that ties them together."""
