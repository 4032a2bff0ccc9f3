"""Alignment pictures, charts and pages."""
