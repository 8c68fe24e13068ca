"""The steps by which Numba compiles a kernel, three of them our own. What each bought stands in `model.jit.decorators`.

    LookUpOnce          arguments and their fields are looked up once, at the start
    LeaveToCallers      code that kernels call is made fast as part of what Python calls
    IndicesAsTheyAre    an index below 0 does not count from the end
"""
import contextlib
from collections import Counter

from llvmlite.binding import Linkage
from numba.core import ir
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, LoweringPass, register_pass
from numba.core.ir_utils import build_definitions, remove_dels, replace_vars
from numba.core.typed_passes import AnnotateTypes, NativeLowering
from numba.core.types import BaseFunction, intp
from numba.core.untyped_passes import InlineInlinables
from numba.np import arrayobj


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
    compiler may change how it is called. What has but one caller it copies into that."""

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
