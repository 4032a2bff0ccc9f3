"""The HTTP service: it checks requests, splits their texts into sentences, translates these in
batches in one thread, and joins the translations."""
