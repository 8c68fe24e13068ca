"""The help of every verb, for docs/commands.md."""

WIDTH = 100     # columns of --help


def commands() -> str:
    """`--help` of every verb, as the terminal shows it."""
    from typer.main import get_command

    from study.commands import main as cli
    return "\n\n".join(f"## {' '.join(('study', *words))}\n\n```text\n{help_of(words)}\n```"
                       for words in verbs(get_command(cli.app)))


def verbs(command: object, words: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """All verbs below a command, each as its words."""
    below = getattr(command, "commands", {})
    return [words, *(verb for name, subcommand in below.items() for verb in verbs(subcommand, (*words, name)))]


def help_of(words: tuple[str, ...]) -> str:
    """What a verb prints for `--help`, without colours, at a fixed width."""
    from typer.testing import CliRunner

    from study.commands import main as cli
    shown = CliRunner().invoke(cli.app, [*words, "--help"], prog_name="study", env={
        "COLUMNS": str(WIDTH), "NO_COLOR": "1", "TERM": "dumb", "FORCE_COLOR": None, "TERMINAL_WIDTH": None})
    return "\n".join(line.rstrip() for line in shown.stdout.strip("\n").splitlines()).strip("\n")
