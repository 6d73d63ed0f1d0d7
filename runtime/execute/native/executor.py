"""The native executor: runs a graph as machine code where it can be expressed, and as its plan elsewhere.

In: a graph and what makes its plan.  Out: `NativeFunction`, or `Unlowered` with the reason.  What always
holds: a call that native code gives up is done by the plan from the start, with all arrays as they were;
a function that gives up too often is left to the plan for good, and says where it gave up last.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os.path
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from runtime import background
from runtime.config import available, settings
from runtime.errors import Span
from runtime.execute import traceback
from runtime.execute.native import abi, entry, handlers, llvm_load, small_arrays, telling
from runtime.execute.native.kernel import Kernel
from runtime.execute.native.kinds import Unlowered
from runtime.execute.native.llvm_load import Code
from runtime.execute.native.lower import lower
from runtime.ir.calls import all_nodes
from runtime.ir.graph import Const, Graph, Node, Value
from runtime.mistakes import survived
from runtime.passes.pipeline import LARGE
from runtime.types import (
    OBJECT,
    ArrayType,
    MaybeUnbound,
    NumberType,
    ObjectType,
    StaticType,
    TupleType,
    Type,
    WeakType,
)

if TYPE_CHECKING:
    from runtime.execute.native import sites

traceback.register_hidden(__file__)  # between a plan and the code that handed the call to it
PATIENCE = 8  # so many calls may be given up before it is asked whether native code is worth it
MANY_MISSED = 100  # so many are not taken on before looking at them is given up
MANY_BAILS = 1000  # so many are not to be waited for, where a thread can't be started
MANY = 1 << 18  # elements: so many take a plan milliseconds for each operator
NOTHING = "nothing is computed on numbers or arrays"
_OTHER_FORM = "arguments in another form (arrays that are read-only or in another order, large integers, ...)"
_FLAGS = {1: "invalid", 4: "divide", 8: "over", 16: "under"}


def not_worthwhile(graph: Graph) -> str:
    """Why native code is not likely to pay: nothing is computed, or compiling it takes for ever; else empty.

    One operator on four numbers takes a fifth of NumPy's time, on a million about the same.
    """
    nodes = list(all_nodes(graph))
    if len(nodes) > LARGE:
        return f"it has {len(nodes)} operations, too many to be compiled (write loops as loops)"
    if has_loop(graph) or any(map(_computes, nodes)):
        return ""
    return NOTHING if nodes else "tracing has done all that there was to do"


def has_loop(graph: Graph) -> bool:
    """Whether there is a loop anywhere in the graph."""
    return any(node.op in ("while", "for") for node in all_nodes(graph))


def waits(graph: Graph) -> bool:
    """Whether the first call of a graph waits for native code, or goes on with the plan meanwhile."""
    # A plan that loops over numbers may take longer than any compiler; a chain of operators won't.
    # The setting of math may be another by the time that a thread looks at it; more exact is never wrong.
    at_once = settings.compile == "now" or settings.math == "exact" or has_loop(graph)
    # On one processor nothing goes on meanwhile: the plan of a long call would take as long as compiling.
    return at_once or (any(map(_is_large, graph.params)) and available() == 1)


def prepare(graph: Graph) -> None:
    """Load what lowering a graph takes, so that another thread can do it and parses nothing."""
    handlers.prepare({node.op for node in all_nodes(graph)})


def holds_objects(graph: Graph) -> bool:
    """Whether there are values besides arrays and numbers: then it may be native in parts only."""
    known = (ArrayType, WeakType, NumberType, StaticType)
    return not all(isinstance(v.type, known) for n in all_nodes(graph) for v in (*n.inputs, *n.outputs))


def _is_large(value: Value) -> bool:
    t = value.type
    sizes = t.shape if isinstance(t, ArrayType) else None
    return sizes is not None and None not in sizes and math.prod(cast("Sequence[int]", sizes)) >= MANY


def _computes(node: Node) -> bool:
    """Whether an op makes numbers: those on other values are Python's."""
    return any(isinstance(v.type, (ArrayType, WeakType, NumberType)) for v in node.outputs)


def unavailable() -> str:
    """Why there is no native code in this process; empty if there is."""
    return abi.problem() or llvm_load.missing()


def reported(raised: int) -> bool:
    """Whether NumPy would stay silent about these processor flags (True: go on)."""
    now = np.geterr()
    asked = {now[kind] for bit, kind in _FLAGS.items() if raised & bit}  # type: ignore[literal-required]
    return asked <= {"ignore"} or (asked <= {"ignore", "warn"} and _unheard())


def _unheard() -> bool:
    """Whether the filters drop whatever NumPy warns of."""
    for action, message, category, module, line in warnings.filters:
        if issubclass(RuntimeWarning, category):
            return action == "ignore" and message is None and module is None and not line
    return False


class _Twin:
    """Other code of the same graph, for calls that the usual code does not take; made for the first."""

    def __init__(self, graph: Graph, compiled: Callable[[], Code]) -> None:
        self.code: Code | None = None
        self._graph, self._compiled = graph, compiled
        self._job: background.Job | None = None

    def ready(self) -> Code | None:
        """The code, once it is there."""
        if self._job is None:
            job = self.__dict__.setdefault("_only_job", background.Job(self._compile))
            if self._job is None:
                self._job = job
                (job.finish if waits(self._graph) else job.submit)()
        return self.code

    @property
    def done(self) -> bool:
        """Whether it is there, or never will be."""
        return self._job is not None and self._job.done

    @property
    def pending(self) -> bool:
        """Whether it is being made."""
        return self._job is not None and not self._job.done

    def _compile(self) -> None:
        try:
            self.code = self._compiled()
        except Unlowered:
            pass
        except Exception as problem:  # a mistake of ours: the plan does it right, only slower
            survived("compiling it for other arguments failed", problem)


class NativeFunction:
    """A graph as machine code.

    entry: the built-in function to call.  text: the LLVM IR.  doubtful: whether Python functions or locks of
    random streams take part, so that Python itself may be as quick.  handed: how many of the calls that it
    took on it has handed back to the plan; missed: how many calls it did not take.  left_at:
    where, or for what, it handed back the last call before it was given up.
    """

    certain = hopeful = True  # whether there surely is code, or is likely to be some soon
    undecided = False
    loops: Mapping[Span, str] = {}  # none is left to the plan

    def __init__(
        self, graph: Graph, plan: Callable[[], Callable[..., Any]], others: sites.Others | None = None
    ) -> None:
        """others: what else does calls with arguments of other types than those of the graph."""
        reason = unavailable()
        if reason:
            raise Unlowered(reason)
        self._graph, self._plan, self._others = graph, plan, others
        self._makes_arrays, self._leaps = _makes_wide_arrays(graph), _leaps(graph)
        self._strided = _Twin(graph, lambda: self._compile(in_order=False)[0])
        self._noting: _Twin | None = None
        self._telling: _Twin | None = None
        self.handed = self.missed = 0
        self.left_at = ""
        self.doubtful = False
        self._code, self.text = self._compile()
        self.entry = self._code.entry

    def _compile(self, in_order: bool = True, noting: bool = False) -> tuple[Code, str]:
        kernel = small_arrays.tried(self._graph, functools.partial(lower, in_order=in_order, noting=noting))
        usual = in_order and not noting
        if usual and kernel.wraps:
            self._noting = _Twin(self._graph, lambda: self._compile(noting=True)[0])
        called = any(callable(x) and not isinstance(x, type) for x in kernel.objects.values())
        self.doubtful = self.doubtful or called or bool(kernel.streams)
        missed = self._missed if usual else self._not_taken
        return self._made(kernel, missed, self._bailed if usual else self._by_plan, reported, in_order)

    def _made(
        self,
        kernel: Kernel,
        missed: Callable[..., Any],
        bailed: Callable[..., Any],
        flagged: Callable[[int], bool],
        in_order: bool = True,
        effort: int = 2,
    ) -> tuple[Code, str]:
        """Machine code; missed, bailed, flagged: what does calls that it does not take, those that it hands
        back, and says whether NumPy would stay silent."""
        text = entry.module(kernel, in_order)
        addresses = entry.symbols(kernel)
        addresses |= {
            "autograph_on_miss": id(missed),
            "autograph_on_bail": id(bailed),
            "autograph_on_flags": id(flagged),
        }
        keep = (missed, bailed, flagged, tuple(kernel.objects.values()))
        return llvm_load.compile_module(text, addresses, self._graph.name, keep, effort), text

    def _compile_telling(self) -> Code:
        """Code that says where it leaves to the plan."""
        emitters, flags = list[telling.Telling](), list[int]()

        def emitter(watch: bool) -> telling.Telling:
            emitters.append(telling.Telling(watch))
            return emitters[-1]

        def flagged(raised: int) -> bool:
            flags[:] = [raised]
            return reported(raised)

        def left(*args: Any) -> Any:
            number = code.image.variable(ctypes.c_int32, "why").value
            self.left_at = emitters[-1].place(number) or _warning(flags)
            return self._plan()(*args)

        kernel = small_arrays.tried(self._graph, functools.partial(lower, emitter=emitter))
        code, _ = self._made(kernel, self._not_taken, left, flagged, effort=0)
        return code

    @property
    def calls(self) -> int:
        """How many calls native code has taken on."""
        return int(self._code.calls.value)

    @property
    def bails(self) -> int:
        """How many of them it has handed back to the plan."""
        return int(self._code.bails.value)

    @property
    def enabled_at(self) -> int:
        """The address of the half word that is 0 once the plan does all calls."""
        return ctypes.addressof(self._code.enabled)

    @property
    def idle(self) -> bool:
        """Whether it was given up: the plan does all calls."""
        return not self._code.enabled.value

    @property
    def told(self) -> tuple[str, ...]:
        """What it did not do of the calls, in words."""
        strided = self._strided.code
        taken = self.calls + (0 if strided is None else int(strided.calls.value))
        found = []
        if self.handed:
            given_up = "was given up, as it " if self.idle else ""
            last = f", the last one {self.left_at}" if self.left_at else ""
            found.append(f"it {given_up}handed {self.handed} of {taken} calls back to the plan{last}")
        if self.missed:
            given_up = "it was given up: " if self.idle and not self.handed else ""
            found.append(f"{given_up}the plan does calls with {_OTHER_FORM}")
        return tuple(found)

    @property
    def place(self) -> str:
        """Where the graph begins in the user's source."""
        span = next((node.span for node in self._graph.nodes if node.span), None)
        return f"{os.path.basename(span.file)}:{span.line}" if span else "a loop"

    def _by_plan(self, *args: Any) -> Any:
        """A call that is handed back."""
        self.handed += 1
        return self._plan()(*args)

    def _not_taken(self, *args: Any) -> Any:
        """A call that no code takes; where nearly all are such, looking at arguments is given up."""
        if not self.idle:
            self.missed += 1
            if self.missed >= MANY_MISSED and self.missed > 4 * self.calls and not self._strided.pending:
                self._code.enabled.value = 0
        return self._plan()(*args)

    def _bailed(self, *args: Any) -> Any:
        """A call that native code gave up; code that goes on where NumPy's integers wrap has a try."""
        noting = None if self._noting is None else self._noting.ready()
        if noting is not None and not _given_up(noting.bails.value, noting.calls.value):
            return noting.entry(*args)
        self.handed += 1
        code = self._give_up() if not self.idle and _given_up(self.bails, self.calls) else None
        return (self._plan() if code is None else code.entry)(*args)

    def _give_up(self) -> Code | None:
        """Leave the next calls to the plan, once there is code that says where they leave: for this call."""
        twin = self._telling = self._telling or _Twin(self._graph, self._compile_telling)
        code = twin.ready()
        if twin.done or self.bails >= MANY_BAILS:
            self._code.enabled.value, self._telling = 0, None
        return code

    def _missed(self, *args: Any) -> Any:
        """A call with arguments in another form: arrays that are not in C order get code of their own."""
        other = None if self._others is None else self._others(args)
        if other is not None:
            return other(*args)
        code = None if self.idle else self._strided_code(args)
        return (self._not_taken if code is None else code.entry)(*args)

    def _strided_code(self, args: tuple[Any, ...]) -> Code | None:
        """Code for arrays that are not in C order, where it gives what NumPy gives."""
        if not _strided(args) or any(map(_folded, args)):
            return None
        # what NumPy makes of turned arrays is in their order
        if self._makes_arrays and any(_turned(x, self._leaps) for x in args):
            return None
        code = self._strided.ready()
        return None if code is None or _given_up(code.bails.value, code.calls.value) else code


def _warning(flags: Sequence[int]) -> str:
    """What NumPy would tell of processor flags, if any were looked at."""
    kinds = [kind for bit, kind in _FLAGS.items() for raised in flags if raised & bit]
    return f"for what NumPy would warn of ({', '.join(kinds)})" if kinds else ""


def _given_up(bails: int, calls: int) -> bool:
    """Whether code hands too many of its calls back to be worth it."""
    return bails >= PATIENCE and 2 * bails > calls


def _folded(x: Any) -> bool:
    """Whether several elements of an array that may be written to may lie in one place: NumPy computes all of
    them before it stores any."""
    return type(x) is np.ndarray and x.flags.writeable and _overlaps(x)


def _overlaps(x: np.ndarray[Any, Any]) -> bool:
    """Whether several elements may lie in one place."""
    reach = x.itemsize
    for step, n in sorted((abs(step), n) for step, n in zip(x.strides, x.shape, strict=True) if n > 1):
        if step < reach:
            return x.size > 0
        reach += step * (n - 1)
    return False


def _turned(x: Any, leaping: bool = False) -> bool:
    """Whether the elements of an array lie in memory in another order of axes than C's, or (leaping) some of
    them may do that, where rows overlap, as those of windows do."""
    if type(x) is not np.ndarray or x.ndim < 2:
        return False
    steps = [abs(step) for step, n in zip(x.strides, x.shape, strict=True) if n != 1]
    return any(a < b for a, b in zip(steps, steps[1:], strict=False)) or (leaping and _overlaps(x))


def _leaps(graph: Graph) -> bool:
    """Whether there are slices with other steps than 1: of overlapping rows they pick another order."""
    for node in all_nodes(graph):
        step = node.inputs[2] if node.op == "py.slice" else Const(None)
        if not isinstance(step, Const) or step.value not in (None, 1, -1) or any(map(_leaping, node.inputs)):
            return True
    return False


def _leaping(x: object) -> bool:
    """Whether a key, or a part of one, is a slice with a step other than 1 (or one back)."""
    value = x.value if isinstance(x, Const) else x
    if isinstance(value, tuple):
        return any(map(_leaping, value))
    return isinstance(value, slice) and value.step not in (None, 1, -1)


def _makes_wide_arrays(graph: Graph) -> bool:
    """Whether arrays of several axes are made in a graph, not only looked at."""
    made = [
        n
        for n in all_nodes(graph)
        if n.op != "py.getattr" and (n.op != "getitem" or _picks(n.inputs[1].type))
    ]
    return any(_may_be_wide(v.type) for node in made for v in node.outputs)


def _may_be_wide(t: Type) -> bool:
    """Whether a value of the type may be, or hold, an array of several axes."""
    if isinstance(t, MaybeUnbound):
        return _may_be_wide(t.type)
    if isinstance(t, TupleType):
        return any(map(_may_be_wide, t.items))
    if isinstance(t, ArrayType):
        return t.shape is None or len(t.shape) > 1
    return t == OBJECT


def _picks(key: Type) -> bool:
    """Whether a key picks by arrays, and so makes a new one."""
    if isinstance(key, TupleType):
        return any(map(_picks, key.items))
    return isinstance(key, ObjectType) or (isinstance(key, ArrayType) and not key.scalar)


def _strided(args: tuple[Any, ...]) -> bool:
    return any(type(a) is np.ndarray and not a.flags.c_contiguous for a in args)
