"""From source text to translations: the search, which sees only a step function, and the conversion
of its ids to text."""
