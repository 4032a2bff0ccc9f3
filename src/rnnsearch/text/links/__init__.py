"""Word links: reading and writing them, symmetrising them, and making them for a whole corpus."""
