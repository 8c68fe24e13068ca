"""What is made, and not written, in README.md and docs/: `handbook` puts together what the other modules make."""
