"""The network: integers and tensors in, log-probabilities and alignments out. It knows nothing of words."""
