"""NumPy's functions, called from native loops where there are no instructions for them.

In: a node, and the values of its inputs.  Out: its result, a new array or a number.  What always holds: the
result is held here alone, and of the dtype, sizes and order that are known; else the plan does the call.  So
it does after an error of the function's own, which it raises again; what signal handlers raise ends the call.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.execute.native import abi, direct_draws, lists, sampled, scalars
from runtime.execute.native.arrays import dense, memory
from runtime.execute.native.elementwise import materialized
from runtime.execute.native.emit import FLAGS, TRUE
from runtime.execute.native.kinds import (
    FLOAT64,
    PYTHON_BOOL,
    PYTHON_FLOAT,
    PYTHON_INT,
    Unlowered,
    numpy_scalar,
)
from runtime.execute.native.ownership import slot
from runtime.execute.native.sampled import Memory
from runtime.execute.native.shares import Serial, wait
from runtime.execute.native.state import State
from runtime.execute.native.streams import owner
from runtime.execute.native.values import LISTS, Arr, Drawing, Lazy, Num, Static, Tup, Val, one
from runtime.ir.graph import Const, Node, Operand, Value
from runtime.ops.table import OPS
from runtime.types import WEAK_BOOL, WEAK_FLOAT, WEAK_INT, ArrayType, ObjectType, Type

# They move elements, or make them of integers, or ask for no flags: they never give a floating point warning.
MOVES = frozenset(
    f"np.{name}"
    for name in (
        "concatenate stack vstack hstack dstack column_stack append insert delete roll repeat sort argsort "
        "lexsort partition argpartition unique take take_along_axis compress extract choose tril triu diag "
        "diagflat pad resize flatnonzero argwhere searchsorted digitize bincount setdiff1d union1d "
        "count_nonzero intersect1d setxor1d isin select eye identity indices packbits unpackbits "
        "ravel_multi_index copy interp"
    ).split()
)
# They take so long that it costs little to have NumPy raise where it would warn.
HEAVY = frozenset(
    f"np.{name}"
    for name in (
        "diff ediff1d linspace logspace geomspace convolve correlate polyval trapezoid kron trace "
        "tensordot einsum cross vander median percentile quantile gradient unwrap nan_to_num sinc i0 "
        "linalg.solve linalg.inv linalg.cholesky linalg.det linalg.eigvalsh linalg.eigvals linalg.pinv "
        "linalg.matrix_power linalg.multi_dot linalg.norm linalg.cond linalg.svdvals linalg.tensorsolve "
        "linalg.tensorinv fft.fft fft.ifft fft.rfft fft.irfft fft.fft2 fft.ifft2 fft.fftn fft.ifftn "
        "fft.rfft2 fft.irfft2 fft.fftshift fft.ifftshift fft.fftfreq fft.rfftfreq"
    ).split()
)
GAINS = {False: 100, True: 3}  # times faster than the plan is a loop of draws, without and with Python's help
OWN, WANTED = 0x4, abi.IN_ORDER | abi.WRITEABLE | 0x4  # flags of an array that owns its memory


def callable_here(state: State, node: Node, args: list[Val]) -> bool:
    """Whether the node can be left to a call, and had better be: outside of loops the plan can do it, unless
    it is done with a list that is only here."""
    if not state.depth and not any(isinstance(x, LISTS) for x in args):
        return False
    if of_numbers(node):
        return state.e.gang is None
    if node.op in MOVES or node.op in HEAVY:
        node = typed(state, node, args)
    made = node.outputs[0].type if len(node.outputs) == 1 else None
    return (
        (node.op in MOVES or node.op in HEAVY)
        and (
            made == WEAK_INT
            or (isinstance(made, ArrayType) and made.shape is not None and made.device == "cpu")
        )
        and "out" not in node.keywords
    )


def of_numbers(node: Node) -> bool:
    """Whether the node calls a function of `math`, of numbers and giving a number, or asks a clock."""
    target = node.inputs[0] if node.op == "py.call" and not node.attr("starred") else None
    if not isinstance(target, Const) or not isinstance(target.value, types.BuiltinFunctionType):
        return False
    return target.value.__module__ in ("math", "time") and node.outputs[0].type in (
        WEAK_FLOAT,
        WEAK_INT,
        WEAK_BOOL,
    )


def typed(state: State, node: Node, args: list[Val]) -> Node:
    """The node with the type of what it gives, where the graph does not know it: that of lists, for example,
    which may be empty for all it knows, is found by the arrays that are made of them."""
    rule = OPS[node.op].rule
    if len(node.outputs) != 1 or not isinstance(node.outputs[0].type, ObjectType) or rule is None:
        return node
    count = len(args) - len(node.keywords)
    types = types_of(state, node, args)
    made = rule(*types[:count], **dict(zip(node.keywords, types[count:], strict=True)))
    return dataclasses.replace(node, outputs=(Value(made),))


def types_of(state: State, node: Node, args: Sequence[Val]) -> list[Type]:
    """The types of the inputs of a node."""
    return [_type(state, x, given) for x, given in zip(args, node.inputs, strict=True)]


def _type(state: State, x: Val, given: Operand) -> Type:
    """The type of a value."""
    if isinstance(x, LISTS):
        return lists.type_of(state, x)
    if isinstance(x, Num) and len(x.members) == 1 and not isinstance(given, Const):
        return x.scalar.type
    if isinstance(x, (Arr, Lazy)):
        dtype = x.dtype if isinstance(x, Arr) else x.kind.dtype
        return ArrayType(dtype, tuple(int(n) if n.isdigit() else None for n in x.dims))
    return given.type


def _may_tell(run: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Whether the function may warn in Python code: it would again, when the plan does the call."""
    arrays = [x for x in args if isinstance(x, np.ndarray)]
    return any(not x.size or (run is np.cross and x.shape[-1:] == (2,)) for x in arrays)


@functools.cache
def _raising(run: Callable[..., Any]) -> Callable[..., Any]:
    """The function, raising where NumPy would warn."""

    def call(*args: Any, **keywords: Any) -> Any:
        if _may_tell(run, args):
            raise RuntimeError("left to the plan")
        with np.errstate(all="raise"):
            return run(*args, **keywords)

    return call


def _by_position(node: Node) -> tuple[Callable[..., Any], list[int]]:
    """What is called, and the inputs that it is given by position; constant keywords are bound to it."""
    target = node.inputs[0] if node.op == "py.call" else None
    if isinstance(target, Const):
        run = target.value
    else:
        run = OPS[node.op].run if node.op in MOVES else _raising(OPS[node.op].run)
    first = len(node.inputs) - len(node.keywords)
    bound = {
        name: x.value
        for name, x in zip(node.keywords, node.inputs[first:], strict=True)
        if isinstance(x, Const)
    }
    names = [name for name in node.keywords if name not in bound]
    leading = range(0 if target is None else 1, first)
    given = [*leading, *(first + node.keywords.index(name) for name in names)]
    if names:
        unnamed, run = (
            run,
            lambda *args: unnamed(*args[: -len(names)], **dict(zip(names, args[-len(names) :], strict=True))),
        )
    return functools.partial(run, **bound) if bound else run, given


def called(state: State, node: Node, args: list[Val]) -> Val:
    """The result of a call."""
    e, t = state.e, typed(state, node, args).outputs[0].type
    if e.part is not None:
        raise Serial
    args = [lists.as_array(state, x) if isinstance(x, LISTS) else x for x in args]
    writer = _Objects(state)
    run, places = _by_position(node)
    if of_numbers(node) and not all(isinstance(args[k], (Num, Static)) for k in places):
        raise Unlowered("a function of numbers with something else")
    if of_numbers(node):
        args = [_plain(state, x) for x in args]
    memory = None
    if isinstance(t, ArrayType) and not t.scalar:
        memory = sampled.seen(e, OPS[node.op].run, node, args, t)
    if memory is Memory.OTHER:
        raise Unlowered(f"{node.op} gives a view, or another order of axes")
    objects = [writer.of(args[k], node.inputs[k]) for k in places]
    made = _result(state, t, _made(state, run, objects, writer), memory is Memory.ALONE)
    if not of_numbers(node):
        wait(state)
    return made


def _plain(state: State, x: Val) -> Val:
    """A float64 of NumPy's as a Python float, which it is one of: not all functions take other scalars."""
    double = isinstance(x, Num) and len(x.members) == 1 and x.scalar == FLOAT64
    return scalars.to_python(state.e, x, float) if isinstance(x, Num) and double else x


def _made(state: State, run: Callable[..., Any], objects: Sequence[str], writer: _Objects) -> str:
    """What a call gives, which has not raised."""
    e = state.e
    e.flush()
    given = e.slot(f"[{max(len(objects), 1)} x ptr]")
    for k, obj in enumerate(objects):
        e.line(f"store ptr {obj}, ptr {e.op(f'getelementptr ptr, ptr {given}, i64 {k}')}")
    e.leaving()
    made = e.effect(
        f"call ptr @PyObject_Vectorcall(ptr {state.symbol(run)}, ptr {given}, i64 {len(objects)}, ptr null)"
    )
    raised, stopped, leave, on = (e.block(name) for name in ("raised", "stopped", "leave", "on"))
    e.branch(e.effect(f"icmp eq ptr {made}, null"), raised, on)
    e.start(raised)
    outside = e.effect(f"call i1 @from_outside(ptr {state.symbol(run)}, ptr {given}, i64 {len(objects)})")
    _let_go(state, writer)
    e.branch(outside, stopped, leave)
    e.start(stopped)
    e.end("br label %interrupted")
    e.start(leave)
    e.bail_if(TRUE)
    e.start(on)
    _let_go(state, writer)
    if e.watch:
        e.declare("declare i32 @autograph_feclearexcept(i32)")
        e.line(f"call i32 @autograph_feclearexcept(i32 {FLAGS})")  # NumPy has looked at them
    return made


def _let_go(state: State, writer: _Objects) -> None:
    """Give up what was made for a call."""
    for obj in writer.temporary:
        state.e.line(f"call void @Py_DecRef(ptr {obj})")


def _result(state: State, t: Type, made: str, alone: bool = False) -> Val:
    """The value of an object of this type.  alone: whether an array lies in one that it alone holds."""
    e = state.e
    cls = e.effect(f"load ptr, ptr {e.effect(f'getelementptr i8, ptr {made}, i64 {abi.TYPE_AT}')}")
    if t == WEAK_FLOAT:
        number = e.effect(f"load double, ptr {e.effect(f'getelementptr i8, ptr {made}, i64 {abi.HEAD}')}")
        e.line(f"call void @Py_DecRef(ptr {made})")
        e.bail_if(e.effect(f"icmp ne ptr {cls}, @autograph_type_float"))
        return one(PYTHON_FLOAT, number)
    if t == WEAK_BOOL:
        e.line(f"call void @Py_DecRef(ptr {made})")
        return one(PYTHON_BOOL, e.effect(f"icmp eq ptr {made}, @autograph_True"))
    if not isinstance(t, ArrayType):
        return _int(state, made, cls)
    kind = numpy_scalar(t.dtype)
    if t.scalar:
        e.bail_if(e.effect(f"icmp ne ptr {cls}, {state.symbol(kind.dtype.type)}"))
        at = e.effect(f"getelementptr i8, ptr {made}, i64 {abi.HEAD}")
        value = e.effect(f"load {memory(kind)}, ptr {at}, align 1")
        e.line(f"call void @Py_DecRef(ptr {made})")
        return one(kind, e.op(f"icmp ne i8 {value}, 0") if kind.kind == "b" else value)
    place = slot(e, state.owned)
    state.owned += 1
    before = e.effect(f"load ptr, ptr {place}")
    e.line(f"store ptr {made}, ptr {place}")
    e.line(f"call void @Py_DecRef(ptr {before})")
    e.bail_if(e.effect(f"icmp ne ptr {cls}, @autograph_type_ndarray"))
    if alone:  # others that took its memory would have a base, too
        state.held.add(state.owned)
    return _checked(state, made, t, alone)


def plain(state: State, node: Node, args: list[Val], value: Callable[..., Val]) -> tuple[Val, bool]:
    """The result of a node without regions, and whether Python was called for it: in a loop, where there are
    no instructions for it (`value`), and wherever a random number is drawn."""
    if draws(node, args):
        return drawn(state, node, args), True
    state.released = False
    if not callable_here(state, node, args):
        return value(state, node, args), state.released
    undone = undo(state)
    try:
        return value(state, node, args), state.released
    except Unlowered as reason:
        undone()
        try:
            return called(state, node, args), True
        except Unlowered:
            raise reason from None


def undo(state: State) -> Callable[[], None]:
    """What makes all of the code unwritten that is written from now on."""
    mark, owned, free = state.e.mark(), state.owned, list(state.free)

    def back() -> None:
        state.e.rollback(mark)
        state.owned, state.free = owned, list(free)

    return back


def draws(node: Node, args: Sequence[Val]) -> bool:
    """Whether the node draws from a random stream."""
    if node.op != "py.call" or node.attr("starred") or not node.outputs:
        return False
    method = args[0]
    return isinstance(method, Drawing) or isinstance(method, Static) and owner(method.value) is not None


def _name(method: Val) -> str:
    return str(getattr(method.value, "__name__", "a method")) if isinstance(method, Static) else "a method"


def drawn(state: State, node: Node, args: list[Val]) -> Val:
    """What a method of a random stream gives, which is called as it is."""
    e, t, method = state.e, node.outputs[0].type, args[0]
    if e.part is not None:
        raise Serial
    if t not in (WEAK_INT, WEAK_FLOAT) and (not isinstance(t, ArrayType) or t.shape is None):
        raise Unlowered(f"a call of {method.name if isinstance(method, Drawing) else _name(method)}")
    if e.gang is not None:
        raise Unlowered("a draw for several elements at once")
    writer = _Objects(state)
    first = len(node.inputs) - len(node.keywords)
    if isinstance(method, Drawing):
        cls, name, stream = method.of.cls, method.name, method.of.text
        run, objects = getattr(cls, name), [stream]
    else:
        assert isinstance(method, Static)
        of = owner(method.value)
        cls, name, stream = type(of), method.value.__name__, state.symbol(of)
        run, objects = method.value, []
    number = None if node.keywords else direct_draws.drawn(state, cls, name, stream, args[1:])
    if number is not None and number.scalar.type == t:
        return number
    named = zip(node.keywords, node.inputs[first:], strict=True)
    constant = {name: x.value for name, x in named if isinstance(x, Const)}
    if len(constant) != len(node.keywords):
        raise Unlowered("a draw with keywords that are not known")
    run = functools.partial(run, **constant) if constant else run
    objects += [writer.of(args[k], node.inputs[k]) for k in range(1, first)]
    state.stream(stream)
    state.calls_streams = True
    made = _result(state, t, _made(state, run, objects, writer))
    wait(state)
    return made


def _int(state: State, made: str, cls: str) -> Num:
    """A Python int, which is small."""
    e, flag = state.e, state.e.slot("i32")
    value = e.effect(f"call i64 @PyLong_AsLongLongAndOverflow(ptr {made}, ptr {flag})")
    e.line(f"call void @Py_DecRef(ptr {made})")
    e.bail_if(e.effect(f"icmp ne ptr {cls}, @autograph_type_int"))
    e.bail_if(e.effect(f"icmp ne i32 {e.effect(f'load i32, ptr {flag}')}, 0"))
    return one(PYTHON_INT, value)


def _checked(state: State, made: str, t: ArrayType, alone: bool) -> Arr:
    """The array, which is what its type says and held by nobody else."""
    e, kind = state.e, numpy_scalar(t.dtype)

    def field(offset: int, llvm: str, of: str = made) -> str:
        return e.effect(f"load {llvm}, ptr {e.effect(f'getelementptr i8, ptr {of}, i64 {offset}')}")

    flags = e.effect(f"and i32 {field(abi.FLAGS_AT, 'i32')}, {WANTED}")
    assert t.shape is not None
    for found, wanted in (
        (f"ptr {field(abi.DESCR_AT, 'ptr')}", state.symbol(kind.dtype)),
        (f"i32 {field(abi.RANK_AT, 'i32')}", str(len(t.shape))),
        (f"i32 {flags}", str(WANTED & ~OWN if alone else WANTED)),
        (f"i32 {field(0, 'i32')}", "1"),  # the reference count
    ):
        e.bail_if(e.effect(f"icmp ne {found}, {wanted}"))
    if alone:
        base = field(abi.BASE_AT, "ptr")
        e.bail_if(e.effect(f"icmp eq ptr {base}, null"))
        e.bail_if(e.effect(f"icmp ne ptr {field(abi.TYPE_AT, 'ptr', base)}, @autograph_type_ndarray"))
        e.bail_if(e.effect(f"icmp ne i32 {field(0, 'i32', base)}, 1"))
        owns = e.effect(f"and i32 {field(abi.FLAGS_AT, 'i32', base)}, {OWN}")
        e.bail_if(e.effect(f"icmp eq i32 {owns}, 0"))
    sizes = field(abi.SIZES_AT, "ptr")
    dims = []
    for axis, n in enumerate(t.shape):
        size = e.effect(f"load i64, ptr {e.effect(f'getelementptr i64, ptr {sizes}, i64 {axis}')}")
        if n is not None:
            e.bail_if(e.effect(f"icmp ne i64 {size}, {n}"))
        dims.append(size if n is None else str(n))
    strides = dense(e, dims, kind.dtype.itemsize)
    data = field(abi.DATA_AT, "ptr")
    return Arr(
        kind.dtype, data, tuple(dims), strides, made, frozenset(), state.depth, state.owned, state.owned
    )


class _Objects:
    """Values as Python objects; `temporary` are those that are let go after the call."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.temporary: list[str] = []

    def of(self, x: Val, operand: Operand | None = None) -> str:
        """An object, as long as the call lasts."""
        if isinstance(operand, Const):
            return self.state.symbol(operand.value)
        if isinstance(x, Static):
            return self.state.symbol(x.value)
        if isinstance(x, Lazy):
            x = materialized(self.state, x)
        if isinstance(x, Arr):
            return self.view(x) if x.handle is None else x.handle
        if isinstance(x, Num):
            return self.number(x)
        if isinstance(x, Tup):
            return self.display(x)
        raise Unlowered("an argument that is no array, number or tuple of these")

    def kept(self, text: str) -> str:
        """A new reference."""
        made = self.state.e.effect(text)
        self.temporary.append(made)
        return made

    def display(self, x: Tup) -> str:
        """A tuple, which takes over the references to its items."""
        e = self.state.e
        items = [self.of(item) for item in x.items]
        made = self.kept(f"call ptr @PyTuple_New(i64 {len(items)})")
        for k, item in enumerate(items):
            e.line(f"call void @Py_IncRef(ptr {item})")
            e.line(f"call i32 @PyTuple_SetItem(ptr {made}, i64 {k}, ptr {item})")
        return made

    def number(self, x: Num) -> str:
        """A Python number or a NumPy scalar."""
        if len(x.members) != 1 or x.scalar.kind == "c":
            raise Unlowered("a number of two kinds as an argument")
        e, kind = self.state.e, x.scalar
        if x.const is not None:
            return self.state.symbol(x.const)
        if not kind.weak:
            cell = e.slot("i64")
            text = e.op(f"zext i1 {x.text} to i8") if kind.kind == "b" else x.text
            e.line(f"store {memory(kind)} {text}, ptr {cell}")
            descr = self.state.symbol(kind.dtype)
            return self.kept(f"call ptr @autograph_PyArray_Scalar(ptr {cell}, ptr {descr}, ptr null)")
        if kind.kind == "b":
            return e.select(x.text, "ptr", "@autograph_True", "@autograph_False")
        if kind.kind == "i":
            return self.kept(f"call ptr @PyLong_FromLongLong(i64 {x.text})")
        if kind.kind == "u":
            return self.kept(f"call ptr @PyLong_FromUnsignedLongLong(i64 {x.text})")
        return self.kept(f"call ptr @PyFloat_FromDouble(double {x.text})")

    def view(self, x: Arr) -> str:
        """An array object over memory that lives longer than the call."""
        e, rank = self.state.e, len(x.dims)
        sizes, strides = e.slot(f"[{max(rank, 1)} x i64]"), e.slot(f"[{max(rank, 1)} x i64]")
        for cells, texts in ((sizes, x.dims), (strides, x.strides)):
            for axis, n in enumerate(texts):
                e.line(f"store i64 {n}, ptr {e.op(f'getelementptr i64, ptr {cells}, i64 {axis}')}")
        e.declare("declare ptr @autograph_PyArray_New(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)")
        return self.kept(
            f"call ptr @autograph_PyArray_New(ptr @autograph_type_ndarray, i32 {rank}, ptr {sizes}, "
            f"i32 {x.dtype.num}, ptr {strides}, ptr {x.data}, i32 0, i32 0, ptr null)"
        )
