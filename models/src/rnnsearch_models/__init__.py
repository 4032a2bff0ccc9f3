"""Models as data: see the folders beside this file."""
