"""The built-in corpus: pairs with exact word links, as data files, and what reads them. A grammar
wrote them (scripts/builtin_corpus in the repository's tag v0.1-full)."""
