"""The built-in corpus: a seeded generator of English–French sentence pairs with exact word links."""
