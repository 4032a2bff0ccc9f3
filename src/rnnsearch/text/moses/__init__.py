"""The rules of Moses for words and lines, as sacremoses has them, in a fraction of its time."""
