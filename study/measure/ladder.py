"""The rungs: settings of PostgreSQL and the load on it, each a change of another rung.

    ladder.rungs(sizes, with_wal=False)

    defaults        as PostgreSQL comes
    memory          shared buffers and log buffers made larger
    checkpoints     and checkpoints made rarer, spread over their interval: what most advice amounts to
    …               of these all others change one thing more

What is unsafe says so. Advice: documentation of PostgreSQL, chapters "Resource Consumption" and "Write Ahead Log".
"""
from typing import NamedTuple

from study.errors import UserError
from study.words import counted

MIB, GIB = 2**20, 2**30
BASE = "checkpoints"                # what single changes are made of
SHARE_OF_MEMORY = 0.25              # for shared buffers: PostgreSQL's documentation, shared_buffers
MOST_BUFFERS = GIB                  # the tables of these ladders are smaller
LARGER, MORE, FEWER = 4, 4, 1       # times the scale, times the clients, clients
UNSAFE = {"full_page_writes": "a power cut may damage pages", "synchronous_commit": "a crash loses the last commits"}


class Sizes(NamedTuple):
    """How large and how long a ladder is."""
    scale: int
    clients: int
    seconds: int            # that are measured, of each run
    warm_up_s: int
    repeats: int


QUICK = Sizes(scale=10, clients=8, seconds=4, warm_up_s=1, repeats=1)
FULL = Sizes(scale=50, clients=16, seconds=60, warm_up_s=15, repeats=3)


class Rung(NamedTuple):
    """One row of the ladder."""
    name: str
    against: str            # the rung that it changes; "" for the first
    change: str             # in words
    settings: dict[str, str]
    scale: int
    clients: int
    wal_apart: bool = False
    unsafe: str = ""        # what may be lost


def buffers(memory_bytes: int) -> str:
    """Shared buffers of a machine with so much memory."""
    return f"{max(128, int(min(MOST_BUFFERS, SHARE_OF_MEMORY * memory_bytes)) // MIB)}MB"


def rungs(sizes: Sizes, memory_bytes: int, with_wal: bool) -> list[Rung]:
    """All of them, in the order in which they are shown."""
    memory = {"shared_buffers": buffers(memory_bytes), "wal_buffers": "16MB"}
    base = memory | {"max_wal_size": "4GB", "checkpoint_timeout": "15min", "checkpoint_completion_target": "0.9"}
    scale, clients = sizes.scale, sizes.clients

    def single(name: str, change: str, wal_apart: bool = False, **settings: str) -> Rung:
        unsafe = next((UNSAFE[setting] for setting in settings if setting in UNSAFE), "")
        return Rung(name=name, against=BASE, change=change, settings=base | settings, wal_apart=wal_apart, unsafe=unsafe,
                    scale=scale, clients=clients)

    def loaded(name: str, change: str, scale: int = scale, clients: int = clients) -> Rung:
        return Rung(name=name, against=BASE, change=change, settings=base, scale=scale, clients=clients)
    made = [
        Rung(name="defaults", against="", change="as PostgreSQL comes", settings={}, scale=scale,
             clients=clients),
        Rung(name="memory", against="defaults", change=f"shared_buffers {memory['shared_buffers']}, wal_buffers 16MB",
             settings=memory, scale=scale, clients=clients),
        Rung(name=BASE, against="memory", change="max_wal_size 4GB, checkpoint_timeout 15min", settings=base, scale=scale,
             clients=clients),
        single("full-page-writes-off", "full_page_writes off", full_page_writes="off"),
        single("commit-delay", "commit_delay 500 us", commit_delay="500"),
        single("synchronous-commit-off", "synchronous_commit off", synchronous_commit="off"),
        loaded("one-client", counted(FEWER, "client"), clients=FEWER),
        loaded("more-clients", counted(MORE * clients, "client"), clients=MORE * clients),
        loaded("larger", f"scale {LARGER * scale}", scale=LARGER * scale)]
    if with_wal:
        made.append(single("log-apart", "the log in another folder", wal_apart=True))
    return made


def chosen(all_rungs: list[Rung], names: list[str]) -> list[Rung]:
    """Those that are named, and what they change; all if none is named. Raises UserError for a name that is none."""
    by_name = {rung.name: rung for rung in all_rungs}
    if unknown := [name for name in names if name not in by_name]:
        hint = "; log-apart needs --wal-dir" if "log-apart" in unknown else ""
        raise UserError(f"--rung is {', '.join(unknown)}, but the rungs are {', '.join(by_name)}{hint}; choose of these")
    wanted = set(names or by_name)
    for name in list(wanted):
        while name := by_name[name].against:
            wanted.add(name)
    return [rung for rung in all_rungs if rung.name in wanted]
