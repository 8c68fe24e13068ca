"""Predictions for machines of others, advice, and how far off they were where somebody has measured."""
