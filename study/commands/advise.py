"""`study advise`: which step of tuning gives most on a machine of the user's own."""
import os
from pathlib import Path
from typing import Annotated

import typer

from study import console, given_files
from study.commands.result import Json, give
from study.console import err, out
from study.errors import UserError

RUN_S = 0.5, 5.5        # processor time of a run, with its share of the ladder: of quick machines, of wide RAID-Z2


def how_long(n_machines: int, draws: int) -> str:
    """What is simulated, how long that takes, and what takes less."""
    n_processors = len(os.sched_getaffinity(0))
    low, high = (max(1, round(n_machines * draws * seconds / n_processors / 60)) for seconds in RUN_S)
    return (f"simulating {n_machines} machines, {draws} draws of each, then the ladder: {low} to {max(high, low + 1)} "
            f"minutes if nothing else runs on {n_processors} processors. "
            f"Sooner: --draws {max(2, draws // 2)}, whose intervals say less. "
            "One step alone: study predict FILE --against CHANGED.")


def advise(
    context: typer.Context,
    hardware: Annotated[Path | None, typer.Option(
        help="What you have: a TOML file, or the name of one in data/machines or data/scenarios.")] = None,
    database: Annotated[str | None, typer.Option(
        help="postgres, innodb or oracle: with usual settings, if the file has none or another. Default: the file's, "
             "else postgres.")] = None,
    draws: Annotated[int, typer.Option(min=2, help="How many draws of everything that is not known.")] = 8,
    today: Annotated[bool, typer.Option(help="Instead: which advice of 2009 still holds in OpenZFS of today.")] = False,
    as_json: Json = False,
) -> None:
    """Which tuning step gains most on your machine, with intervals, and what each step costs in safety.

    Takes one to five minutes on two free processors, and first says how many. With --today it takes seconds.

    Rates are those of a server after hours of work, unless `warm` in the file says otherwise.

    Sections dedup and lun of the file ask whether dedup pays and whether a partition should begin elsewhere.
    "Do not" is a possible answer. docs/scenarios.md lists the keys of the file.

    Example: study advise --hardware data/machines/two-disks-and-an-ssd.toml
    """
    from study.machines import room_for_records
    from study.machines.run_length import BUDGET
    from study.predictions import advice_page, bounds, recipes, storage_steps, tuning_steps
    from study.predictions import advise as advising
    from study.predictions.predict import EXPERIMENTS, era_taken, notes, taken_by_default
    from study.runs import progress
    database = None if database is None else advising.OTHER_NAMES.get(database, database)
    if database is not None and database not in advising.DATABASES:
        raise UserError(f"database is '{database}', but the choices are postgres, innodb and oracle; take one of these")
    of_machine = [name for name in ("hardware", "database", "draws")
                  if getattr(context.get_parameter_source(name), "name", "DEFAULT") != "DEFAULT"]
    if today and of_machine:
        value = context.params[of_machine[0]]
        raise UserError(f"--today is of no machine and --{of_machine[0]} is {value}; leave one of the two out")
    if today:
        give(recipes.read().model_dump(), as_json, lambda: out.print(recipes.page(), soft_wrap=True))
    elif hardware is None:
        raise UserError("--hardware is missing; give a TOML file of what you have, such as data/machines/"
                        "two-disks-and-an-ssd.toml")
    else:
        hardware = advising.named(hardware)
        given_files.refuse_endless(hardware, given_files.TEXT)
        mine, asked = advising.read(hardware, database), storage_steps.read(hardware)
        room_for_records.refuse_too_few(mine[0])
        content = advising.content_of(hardware, database)[0]
        instead = advising.taken_instead(hardware, database)
        taken = (*instead, *taken_by_default(content, mine[0]), *advising.taken_after_hours(mine[0]))
        n_steps = sum(step.after is not None for step in tuning_steps.steps(advising.at_work(mine[0]), mine[1]))
        for line in filter(None, (*instead, era_taken(content, mine[0]), how_long(1 + n_steps, draws))):
            err.print(line, soft_wrap=True)
        with console.counting("runs") as tell, progress.telling(tell):
            storage = storage_steps.of(mine[0], asked, draws)
            advice = advising.advise(*mine, draws)
            shares = bounds.of(advising.at_work(mine[0]), EXPERIMENTS[mine[0].database.kind])
            why = advising.why_more(mine[0], advice, shares, BUDGET)
        advice = advice._replace(bound_by=shares, why_more=why, notes=taken, remarks=notes(mine[0]),
                                 storage=storage, not_asked=storage_steps.not_asked(asked))
        give(advice, as_json, lambda: advice_page.say(advice, out))
