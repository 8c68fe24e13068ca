"""Where the command line speaks: results on standard output, all else on standard error."""
from rich.console import Console

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)
