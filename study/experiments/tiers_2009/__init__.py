"""Tiers (2009): what a fast I/O costs, device by device and in pools of several kinds."""
