"""The built-in corpus: data files that `scripts/builtin_corpus` makes, and what reads them."""
