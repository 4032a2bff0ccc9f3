"""How things look: alignment pictures, charts, and what every page shares."""
