"""Recorded decisions and measured drives, replayed through the model."""
