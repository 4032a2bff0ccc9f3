"""Corpora larger than one machine can work on: Ray's machines turn shards of text into shards of answers."""
