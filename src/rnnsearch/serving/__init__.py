"""The HTTP service: requests are checked, split into sentences, translated in batches by one thread, and put
together again."""
