"""What the command `study` begins with. Who stops it while its verbs are imported, for a second, sees no traceback."""
import sys

STOPPED = 130       # as shells have it: 128 and the number of the signal


def main() -> None:
    """Import the command line and run it."""
    try:
        from study.commands.main import main as run
    except KeyboardInterrupt:
        sys.exit(STOPPED)
    run()
