"""Makes a prepared dataset from pairs of lines: cleans, filters, encodes and shuffles them, and reports on
them."""
