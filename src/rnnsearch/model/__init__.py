"""The network: from token ids to log-probabilities and alignments. It does not depend on text."""
