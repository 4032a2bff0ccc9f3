"""Trained models as folders for sharing: writing, finding, downloading, and their cards."""
