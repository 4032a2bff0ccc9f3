"""From source text to translations: the search, which knows only a step function, and what turns its ids into
text."""
