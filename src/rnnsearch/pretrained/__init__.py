"""Trained models as folders that are shared: what is in them, how they are written and found."""
