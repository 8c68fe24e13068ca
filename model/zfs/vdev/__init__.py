"""Vdevs: how I/Os are spread over leaves (`raid`), and what a leaf has in front of its disk (`cache`, `queue`)."""
