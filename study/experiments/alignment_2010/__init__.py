"""Alignment (2010): requests whose borders are not those of the storage's blocks."""
