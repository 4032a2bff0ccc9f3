"""Beam search, and the networks as it sees them."""
