"""The part of a large corpus that is like a given one (Axelrod, He & Gao 2011)."""
