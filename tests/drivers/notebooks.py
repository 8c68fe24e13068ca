"""Notebooks as JupyterLab runs them, in an IPython without a kernel and a browser, with each slider moved once.

Of a notebook the cells run that its sliders need. `make reproduce` runs all of them. Each notebook runs in a process of its
own, which a server forks off. The server has imported what notebooks import.
"""
import ast
import contextlib
import io
import multiprocessing
import os
import re
import symtable
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pandas as pd

from model.jit import sources
from study.project import NOTEBOOKS
from study.runs.catalogue import STUDY, books
from study.runs.notebook_file import cells

SLIDERS = "sliders.explore("
# Notebooks with sliders. What needs the record of another notebook can only run after it.
BOOKS = [path.name for path in books() if not STUDY[path.stem].needs and SLIDERS in path.read_text()]
FEW = {"draws": "2", "seeds": "2"}
# What makes a notebook short. Where most of its time goes into ensembles that are kept, it is left as it is: outside of a
# batch run they are read, and none of their cases is simulated anew. Of their draws the first DRAWN rows are looked at. A
# slider must have room to the right.
SHORT = {"01_vdev_cache_oltp": {"seconds": "12.0"} | FEW, "04_oltp_gain": {"n_runs": "4"},
         "09_postgres_checkpoints": {"check": "16"}, "14_lun_alignment": {"seconds": "10.0"} | FEW,
         "90_model_vs_zfs": {"seconds": "12.0"}, "91_published_setups": FEW}
DRAWN = 300
SECONDS = 600       # for one notebook


def shortened(source: str, stem: str) -> str:
    """The source of a cell of parameters, with values that make the notebook short."""
    for name, value in SHORT.get(stem, {}).items():
        source = re.sub(rf"^{name} = [\d._]+", f"{name} = {value}", source, flags=re.MULTILINE)
    return source


def _imported_names(code: list[str]) -> set[str]:
    """Names of a notebook that are modules, or what they have, and never anything else."""
    symbols = [symbol for source in code for symbol in symtable.symtable(source, "cell", "exec").get_symbols()]
    return ({symbol.get_name() for symbol in symbols if symbol.is_imported()}
            - {symbol.get_name() for symbol in symbols if symbol.is_assigned() and not symbol.is_imported()})


def _made_and_used(source: str, imported: set[str]) -> tuple[set[str], set[str]]:
    """Names of the notebook that a cell gives a value to, and those that it reads. What is local to a function, a lambda or
    a comprehension is none of them. What is changed in place counts as both, and so does what only one branch sets. What is
    `imported` is not changed: `record.figure(…)` gives no value to `record`."""
    whole = symtable.symtable(source, "cell", "exec")
    made = {symbol.get_name() for symbol in whole.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    used = {symbol.get_name() for table in _with_inner(whole) for symbol in table.get_symbols()
            if symbol.is_referenced() and (table is whole or symbol.is_global())}
    for node in ast.walk(ast.parse(source)):
        changed = _changed(node) - imported
        made, used = made | changed, used | changed
    return made, used


def _changed(node: ast.AST) -> set[str]:
    """Names whose value `node` may change, or leave as it is: set or deleted in part, by a method, or in a branch."""
    match node:
        case ast.AugAssign():
            of = [node.target]
        case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Attribute(ctx=ast.Store() | ast.Del()):
            of = [node]
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name() as name))):
            of = [name]
        case ast.If() | ast.Try() | ast.For() | ast.While():
            of = [inner for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)]
        case _:
            of = []
    return {inner.id for part in of for inner in ast.walk(part) if isinstance(inner, ast.Name)}


def _with_inner(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for inner in table.get_children():
        yield from _with_inner(inner)


def needed(code: list[str]) -> list[str]:
    """The cells with sliders, and those that give a value to a name which one behind them reads."""
    kept, wanted, imported = [], set(), _imported_names(code)
    for source in reversed(code):
        made, used = _made_and_used(source, imported)
        if SLIDERS in source or made & wanted:
            kept.append(source)
            wanted = wanted - made | used
    return kept[::-1]


def first_draws(results: pd.DataFrame) -> pd.DataFrame:
    """An ensemble with the first DRAWN rows of its draws, and all others."""
    is_drawn = results.part == "all"
    return results[~is_drawn | (is_drawn.cumsum() <= DRAWN)].reset_index(drop=True)


def run(name: str, runs: Path, whole: bool = False) -> dict[str, Any]:
    """What came of a notebook whose runs are kept in `runs`: `errors` of cells, how many cells of code `ran`, and what
    became of each picture when its first control was `slid`. Only a `whole` one runs cells that no slider needs."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["IPython.core.interactiveshell", "study.runs.slider_records", *_imported()])
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(name, runs, theirs, whole))
    process.start()
    theirs.close()
    try:
        if not ours.poll(SECONDS):
            raise AssertionError(f"{name} has not ended after {SECONDS} s")
        return ours.recv()
    finally:
        process.kill()
        process.join(10)
        ours.close()


def _imported() -> list[str]:
    """Modules of the project that notebooks import."""
    code = "\n".join(cell.source for name in BOOKS for cell in cells(NOTEBOOKS / name) if cell.kind == "code")
    return sources.modules_of(code)


def _run(name: str, runs: Path, answer: Connection, whole: bool) -> None:
    from IPython.core.interactiveshell import InteractiveShell

    from study.ensembles import ensembles
    from study.runs.sliders import Explorer
    of_all_draws = ensembles.run
    ensembles.run = lambda *given, **named: first_draws(of_all_draws(*given, **named))
    os.environ["STUDY_RUNS"] = str(runs)
    os.chdir(NOTEBOOKS)
    shell, errors, explorers = InteractiveShell.instance(), [], []
    code = [shortened(cell.source, Path(name).stem) for cell in cells(NOTEBOOKS / name) if cell.kind == "code"]
    code = code if whole else needed(code)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for source in code:
            result = shell.run_cell(source, store_history=True)
            if not result.success:
                errors.append(repr(result.error_before_exec or result.error_in_exec))
            if isinstance(result.result, Explorer):
                explorers.append(result.result)
        slid = [_slid(explorer) for explorer in explorers]
    answer.send({"errors": errors, "ran": len(code), "slid": slid})


def _slid(explorer: Any) -> dict[str, Any]:
    """The first control is moved to the right by a step, and the run is kept."""
    control = next(iter(explorer.controls.values()))
    first, picture = control.value, explorer.picture.value
    if hasattr(control, "index"):
        control.index += 1
    else:
        control.value += control.step
    slid = {"is_moved": control.value != first, "is_redrawn": explorer.picture.value != picture,
            "says": explorer.status.value}
    explorer.keep.click()
    return slid | {"kept": explorer.status.value}
