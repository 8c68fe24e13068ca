"""Structures that several mechanisms share: rings in order of last use, skip lists, bits of a word."""
