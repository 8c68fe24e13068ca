"""How the model is compiled. Beside this, only `model.jit.by_reference` and `model.jit.cpu_prefetch` reach into Numba.

Every compiled function of the project is written as

    from model.jit import kernel

    @kernel
    def seek_ns(disk, distance): ...

Three things are decided here.

**Options** (measured on the vdev cache, ns per operation, on the machine these lines were written on).

* `cache`: compiled code is kept on disk, so only the first run on a machine waits for the compiler.
* `_nrt=False`: kernels own nothing. They work in arrays that are handed to them and cannot make any, so Numba need
  not count references to them. It otherwise does so at every call, for every array of a state: 900 became 64.
* States are handed over by reference (`model.jit.by_reference`). Numba hands over every field of every array of a state.
* A `kernel` is copied into who calls it (`forceinline`): it is built from helpers of three lines, and none of them should
  cost a call: 64 became 27. A `part`, a chapter of a simulation, is called. (Neither can call itself.)
* `no_cfunc_wrapper`: no kernel is called from C.
* What Python calls and what other kernels call is compiled apart (`_twice`). Only the former is made fast and machine
  code, with all that it calls (`PartOfCallers`). Numba makes each function fast once more in each that calls it.
* Nobody else calls what is in there (`WholeOfPython`), so a part that is called in one place only is copied there.
  Others are called without ceremony: 7 to 9 % of the time of the OLTP simulation.
* An index below 0 does not count from the end (`IndicesAsTheyAre`), but reaches in front of the array: a comparison, an
  addition and a choice less at each index, a seventh of the time of the OLTP simulation. No kernel has such an index: a
  test runs all families of them interpreted, where it is an error, and so it is with `NUMBA_BOUNDSCHECK=1`. Code that
  is compiled by Numba alone, that of users, is as ever.
* Fields are looked up once (`LookUpOnce`): `m.arc.nodes` in twenty places are as many variables otherwise, and the compiler
  takes long to find out that they are all the same.
* What Numba finds out about `+` for such arguments it need not find out again (`_remembered`).
* PostgreSQL on ZFS, 460 kernels: 105 s of compiling became 88 s by making each of them fast once, and 76 s by
  references. They became 43 s by calling parts, which had been copied before, and 37 s by remembering. It runs as fast.
* No `fastmath` and no `parallel`: both change the order of floating-point operations and so the last bits of a
  result; runs are parallel among themselves, never inside.
* Python's error model: a division by zero stops the run in compiled and in interpreted code alike, where NumPy's
  would go on with 0 or infinity. The hot loops shift instead of dividing, so this costs nothing.

**Where compiled code is kept.** Numba notices that the file of a function was edited. It does not notice an edit of a
function called in another file. So the code of a kernel lies in `.cache/numba/<module>/<digest>`. The digest is of all
sources in reach of its module (`model.jit.sources`) and of the settings that change compiled code. A comment compiles
nothing anew, and a change compiles only what can see it. Old code is removed (`model.jit.old_code`). Where the project
cannot be written, the code lies in a folder of the user's own in the system's temporary folder. `NUMBA_CACHE_DIR`, if
set, replaces `.cache/numba`.

**Parallel processes** share the folder: Numba writes each file under another name and renames it, and of two that want the
same function one compiles it (`model.jit.compile_lock`). That holds as long as a kernel that is called from Python
always gets the same types: arrays of int64 that may be written to, plain Python ints and floats.

`NUMBA_DISABLE_JIT=1` runs every kernel as plain Python, `NUMBA_BOUNDSCHECK=1` checks every index; both give the same
results, and the latter has compiled code of its own.
"""

import contextlib
import hashlib
import os
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

import numba
from llvmlite.binding import Linkage
from numba.core import ir
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, LoweringPass, register_pass
from numba.core.ir_utils import build_definitions, remove_dels, replace_vars
from numba.core.typed_passes import AnnotateTypes, NativeLowering
from numba.core.types import BaseFunction, intp, unliteral
from numba.core.untyped_passes import InlineInlinables
from numba.np import arrayobj

from model.jit import by_reference, old_code, sources
from model.jit.compile_lock import one_compiles


def code_digest(*modules):
    """Digest of all that can change the compiled code of these modules: sources in their reach, and settings of Numba."""
    settings = numba.__version__, numba.config.BOUNDSCHECK, numba.config.OPT, numba.config.DEBUGINFO_DEFAULT
    return hashlib.sha256(f"{settings} {sources.digest_once(*modules)}".encode()).hexdigest()[:20]


def temporary_folder():
    """A folder in the temporary folder that nobody else can write to: compiled code that is loaded is trusted."""
    mine = Path(tempfile.gettempdir()) / f"zfs-database-study-{os.getuid() if hasattr(os, 'getuid') else 'numba'}"
    try:
        mine.mkdir(mode=0o700, exist_ok=True)
        status = mine.lstat()
        if os.name == "nt" or (status.st_uid == os.getuid() and not status.st_mode & 0o022 and not mine.is_symlink()):
            return mine
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="zfs-database-study-"))


def usable(folder):
    """Whether files can be created in `folder`, which is made if it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def cache_folder():
    """The folder for compiled code, of whatever sources; it exists and can be written."""
    preferred = Path(numba.config.CACHE_DIR or sources.ROOT / ".cache" / "numba").absolute()
    for parent in (preferred, temporary_folder):
        folder = parent if isinstance(parent, Path) else parent()
        if usable(folder):
            return folder
    raise OSError(f"no folder for compiled code: neither {preferred} nor {folder} can be written; "
                  "set NUMBA_CACHE_DIR to one that can")


CACHE_FOLDER = cache_folder()
with contextlib.suppress(OSError):  # another process may be tidying up too
    old_code.remove_gone_modules(CACHE_FOLDER, sources.path_of)


@cache
def folder_of(module):
    """The folder for compiled code of the kernels of `module` of the model; "others": of who calls any of them."""
    folder = CACHE_FOLDER / module / code_digest("model" if module == "others" else module)
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        old_code.remove_old_digests(folder)
    return folder


class Locator(_CacheLocator):
    """Where compiled code of one kernel lies. Its folder says of which sources it is, so it needs neither a stamp nor a line
    number, which comments shift."""

    def __init__(self, py_func):
        self._path = str(folder_of(py_func.__module__))

    def get_cache_path(self):
        return self._path

    def get_source_stamp(self):
        return ""

    def get_disambiguator(self):
        return "of"

    @classmethod
    def from_function(cls, py_func, py_file):
        return cls(py_func)


class _CachedKernel(CompileResultCacheImpl):
    _locator_classes = (Locator,)


class KernelCache(FunctionCache):
    """Compiled code of one kernel, kept on disk."""

    _impl_class = _CachedKernel


numba.config.CACHE_DIR = str(folder_of("others"))  # of functions that users compile by Numba itself
by_reference.install()

# ---- how kernels are compiled ----


def _fixed_lookups(assignments):
    """What is looked up of arguments: ({variable: the one to use instead}, assignments to make once and first, those to
    drop). `assignments` are of variables that are assigned once."""
    instead, of_field, first, dropped = {}, {}, [], set()
    n_left = len(assignments) + 1
    while len(assignments) < n_left:
        n_left, left = len(assignments), []
        for assignment in assignments:
            name, value = assignment.target.name, assignment.value
            if isinstance(value, ir.Arg):
                instead[name] = assignment.target
            elif isinstance(value, ir.Var) and value.name in instead:
                instead[name] = instead[value.name]
                dropped.add(id(assignment))
            elif isinstance(value, ir.Expr) and value.op == "getattr" and value.value.name in instead:
                field = instead[value.value.name].name, value.attr
                if field not in of_field:
                    of_field[field] = assignment.target
                    first.append(assignment)
                instead[name] = of_field[field]
                dropped.add(id(assignment))
            else:
                left.append(assignment)
        assignments = left
    return instead, first, dropped


@register_pass(mutates_CFG=False, analysis_only=False)
class LookUpOnce(FunctionPass):
    """What cannot change while a kernel runs, its arguments and their fields, is looked up once, at its start."""

    _name = "look_up_once"

    def __init__(self):
        super().__init__()

    def run_pass(self, state):
        blocks = state.func_ir.blocks
        remove_dels(blocks)
        assignments = [stmt for block in blocks.values() for stmt in block.body if isinstance(stmt, ir.Assign)]
        times = Counter(assignment.target.name for assignment in assignments)
        instead, first, dropped = _fixed_lookups([a for a in assignments if times[a.target.name] == 1])
        for block in blocks.values():
            block.body = [stmt for stmt in block.body if id(stmt) not in dropped]
        begin = blocks[min(blocks)].body
        n_arguments = sum(isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Arg) for stmt in begin)
        begin[n_arguments:n_arguments] = first
        replace_vars(blocks, instead)
        state.func_ir._definitions = build_definitions(blocks)
        return True


class PartOfCallers(JITCodeLibrary):
    """Code of one kernel that kernels call. It is made fast, and machine code, as part of what Python calls."""

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalized = True

    def get_pointer_to_function(self, name):
        self._ensure_finalized()
        return 0

    @property
    def codegen(self):
        return _NoEngine


class WholeOfPython(JITCodeLibrary):
    """Code of one kernel that Python calls, with all that it calls. Nobody else calls that (LLVM: it is internal), so the
    compiler may change how it is called, and copies into its caller what has but one."""

    def _optimize_final_module(self):
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = Linkage.internal
        super()._optimize_final_module()


class _NoEngine:
    @staticmethod
    def set_env(name, env):
        """Kernels have no use for their Python environment."""


@register_pass(mutates_CFG=False, analysis_only=False)
class LeaveToCallers(LoweringPass):
    """What Python does not call is left to its callers."""

    _name = "leave_to_callers"

    def __init__(self):
        super().__init__()

    def run_pass(self, state):
        library = PartOfCallers if state.flags.no_cpython_wrapper else WholeOfPython
        state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return True


@contextlib.contextmanager
def _as_they_are(qualname):
    """Meanwhile Numba takes the indices in the function of this name as they are, in all others as ever. The thread
    that compiles holds Numba's lock, so that no other one does."""
    wrapped = arrayobj.fix_integer_index

    def index(context, builder, kind, value, size):
        if context.fndesc.qualname != qualname:
            return wrapped(context, builder, kind, value, size)
        return context.cast(builder, value, kind, intp)

    arrayobj.fix_integer_index = index
    try:
        yield
    finally:
        arrayobj.fix_integer_index = wrapped


@register_pass(mutates_CFG=True, analysis_only=False)
class IndicesAsTheyAre(NativeLowering):
    """Lowering, of a kernel in which -1 is not the last index."""

    _name = "lowering_of_indices_as_they_are"

    def run_pass(self, state):
        with _as_they_are(state.func_id.func_qualname):
            return super().run_pass(state)


class Pipeline(CompilerBase):
    """Numba's own, with `LookUpOnce`, `LeaveToCallers` and `IndicesAsTheyAre`."""

    def define_pipelines(self):
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(LookUpOnce, InlineInlinables)
        passes.add_pass_after(LeaveToCallers, AnnotateTypes)
        passes.passes = [(IndicesAsTheyAre if step is NativeLowering else step, why) for step, why in passes.passes]
        passes.finalize()
        return [passes]


def _remembered(get_call_type):
    """What a function of Numba's own is for such arguments: it is one of dozens, and otherwise looked for at each `+`."""
    types = {}

    def call_type(function, context, args, kws):
        call = function, tuple(args), tuple(sorted(kws.items()))
        if call not in types:
            types[call] = get_call_type(function, context, args, kws)
        return types[call]
    return call_type


BaseFunction.get_call_type = _remembered(BaseFunction.get_call_type)
_OPTIONS = {"_nrt": False, "no_cfunc_wrapper": True, "fastmath": False, "parallel": False, "error_model": "python",
            "pipeline_class": Pipeline}


def _of_any_value(get_call_template):
    """The same, but for constants no compilation of their own is made; the optimiser sees them anyway."""
    def template(args, kws):
        return get_call_template(tuple(map(unliteral, args)), {name: unliteral(kind) for name, kind in kws.items()})
    return template


def _twice(function, forceinline):
    """Python and other kernels call two compilations of it, each of which is only made if it is wanted."""
    for_python = numba.njit(forceinline=True, nogil=True, **_OPTIONS)(function)
    if not numba.config.DISABLE_JIT:
        if sources.path_of(function.__module__):  # that of anybody else is compiled anew in each process
            for_python._cache = KernelCache(function)
        one_compiles(for_python, folder_of(function.__module__ if sources.path_of(function.__module__) else "others"))
        for_kernels = numba.njit(no_cpython_wrapper=True, forceinline=forceinline, **_OPTIONS)(function)
        for_python.get_call_template = _of_any_value(for_kernels.get_call_template)
        for_python.get_overload = for_kernels.get_overload
    return for_python


def kernel(function):
    """A kernel. Others that call it get a copy of it."""
    return _twice(function, forceinline=True)


def part(function):
    """A kernel that is called by others, not copied into them: for what is large, or not done often."""
    return _twice(function, forceinline=False)


def either(field, absent, present):
    """One of two kernels, settled when their callers are compiled: `present` if the state that is their first argument has
    something in `field`, `absent` if that is None there. The other one is not compiled."""
    def of_state(state):
        return absent if getattr(state, field) is None else present

    def of_type(args):
        return absent if args[0].types[args[0].fields.index(field)] == numba.types.none else present

    def called(*args):
        return of_state(args[0])(*args)

    if numba.config.DISABLE_JIT:
        return called
    chosen = numba.njit(called)
    chosen.get_call_template = lambda args, kws: of_type(args).get_call_template(args, kws)
    chosen.get_overload = lambda args: of_type(args).get_overload(args)
    return chosen
