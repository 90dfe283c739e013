"""Synthetic inputs in the real formats: they let the book run where the data cannot go."""
