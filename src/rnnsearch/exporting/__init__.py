"""A trained model in other forms: a page that translates in the browser."""
