"""From lines of text to batches of ids, and back."""
