"""Pairs of lines to a prepared dataset: cleaned, filtered, encoded, shuffled, and described."""
