"""A trained model as a page that translates in the browser."""
