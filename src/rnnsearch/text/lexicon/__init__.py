"""The lexical translation table t(target word | source word), and its estimation by IBM Model 1."""
