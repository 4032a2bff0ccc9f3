"""The prepared dataset on disk, and the batches that training reads from it."""
