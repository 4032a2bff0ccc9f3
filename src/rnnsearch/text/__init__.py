"""From lines of text to batches of word numbers, and back."""
