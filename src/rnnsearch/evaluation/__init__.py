"""Scores, alignment error and figures: reads text, records and arrays, and needs no torch."""
