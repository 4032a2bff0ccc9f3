"""Corpora larger than a machine: shards of text in, shards of answers out, on the machines that Ray joins."""
