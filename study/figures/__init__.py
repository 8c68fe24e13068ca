"""Figures, one module for each subject. `study.drawing` holds the style and draws them into files."""
