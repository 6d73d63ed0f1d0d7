"""Which values of a graph may share memory, and which of it is written to.

In: a graph.  Out: `Aliases`: classes of values that may share memory.  What always holds: values in
different classes don't share memory, but for those that come from outside (parameters), which may; a class
is *exact* when all of it is one array and views of it, made by nodes that say which.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Collection, Sequence

from runtime.autodiff.rows import VIEWS
from runtime.autodiff.staged.calls import (
    WRITING,
    adds_into,
    harmless,
    is_errstate,
    list_call,
    mark_of,
    overwrites,
    pure_call,
)
from runtime.autodiff.staged.kinds import is_list
from runtime.dataclass import dataclass
from runtime.ir.effects import effect_of
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import EFFECT, PURE
from runtime.ops.adjoint import is_basic
from runtime.ops.table import OPS
from runtime.passes.facts import makes_new
from runtime.types import (
    ArrayType,
    MaybeUnbound,
    NumberType,
    ObjectType,
    StaticType,
    TupleType,
    Type,
    WeakType,
)

_MAYBE_VIEWS = VIEWS | frozenset(
    """np.nan_to_num np.broadcast_arrays np.meshgrid np.trim_zeros np.unwrap np.real_if_close np.require
    np.resize np.ix_ nd.getfield nd.to_device""".split()
)
SURE_VIEWS = frozenset(
    """np.transpose nd.transpose np.swapaxes np.moveaxis np.rollaxis np.expand_dims np.squeeze np.flip
    np.fliplr np.flipud np.diagonal np.real np.broadcast_to np.rot90 np.matrix_transpose""".split()
)
_IN_ORDER = frozenset({"np.zeros", "np.ones", "np.empty", "np.full", "np.arange"})
_RESHAPING = frozenset({"np.reshape", "nd.reshape", "np.ravel"})
SAME = frozenset({"py.bound", "py.check", "py.expect"})  # give their first operand back


def in_memory(t: Type) -> bool:
    """Whether values of the type have contents that can be written to."""
    if isinstance(t, ArrayType):
        return not t.scalar
    if isinstance(t, MaybeUnbound):
        return in_memory(t.type)
    if isinstance(t, TupleType):
        return any(map(in_memory, t.items))
    return not isinstance(t, (WeakType, NumberType, StaticType)) and t != ObjectType(slice)


@dataclass
class Class:
    """origins: how many arrays it may be made of (1 and not outside: one array and its views).

    outside: whether it has values from outside in it.  exposed: whether lists hold some of it.  heirs: values
    that may go on as the same array, after which no value of this class is used."""

    origins: int = 0
    outside: bool = False
    written: bool = False
    exposed: bool = False
    heirs: list[Value] = dataclasses.field(default_factory=list)


class Aliases:
    """The classes of one graph.

    written_params: parameters that are written to.  unknown: code that isn't known is run, which may write
    to whatever it can reach."""

    def __init__(self, graph: Graph) -> None:
        self.params = graph.params
        self.parent: dict[Value, Value] = {}
        self.classes: dict[Value, Class] = {}
        self.views: dict[Value, Node] = {}  # values that surely are views, with the node that makes them
        self.unknown = False
        self._users = _users(graph)
        self._nodes, self._results = graph.nodes, graph.results
        # for each loop, the carries whose arrays nobody else has: its trips may write to them
        self.owned: dict[Node, frozenset[int]] = {}
        self._makers: dict[Operand, Node] = {out: node for node in graph.nodes for out in node.outputs}
        for param in graph.params:
            if in_memory(param.type):
                self._new(param, Class(1, True))
        for node in graph.nodes:
            self._node(node)

    # ------------------------------------------------------------------ asking
    def of(self, x: Operand) -> Class:
        """The class of an operand; of a constant array, one from outside."""
        if isinstance(x, Value) and x in self.parent:
            return self.classes[self._root(x)]
        return Class(1, True)

    def same(self, a: Value, b: Value) -> bool:
        """Whether two values are in one class."""
        return a in self.parent and b in self.parent and self._root(a) is self._root(b)

    def unstable(self, x: Operand) -> bool:
        """Whether the contents of an operand may change while the graph runs."""
        if not in_memory(x.type) and not isinstance(x, Value):
            return False
        mine = self.of(x)
        if mine.outside:
            return self.unknown or self.outside_written
        seen, waiting = {id(mine)}, [mine]
        while waiting:
            one = waiting.pop()
            if one.written:
                return True
            nearer = [self.of(x) for x in one.heirs]
            waiting += [c for c in nearer if id(c) not in seen]
            seen.update(map(id, nearer))
        return False

    @property
    def outside_written(self) -> bool:
        """Whether something from outside is written to."""
        return self._writes_constants or any(c.written and c.outside for c in self.classes.values())

    @property
    def written_params(self) -> list[bool]:
        """For each parameter, whether it is written to."""
        return [p in self.parent and self.of(p).written for p in self.params]

    @property
    def writes(self) -> bool:
        """Whether anything is written to."""
        return self.unknown or self._writes_constants or any(c.written for c in self.classes.values())

    def goes_on(self, x: Value) -> bool:
        """Whether a list is used as a list, not just as the operand of a function that joins arrays."""
        used = self._users.get(x, ())
        return any(user in ("py.call", "getitem", "setitem", "cond", "while", "for") for user in used)

    def widened(self, x: Value) -> Value | None:
        """Of what smaller array a value is a look at, in which elements stand several times."""
        node = self.views.get(x)
        source = node.inputs[0] if node is not None and node.op == "np.broadcast_to" else None
        return source if isinstance(source, Value) else None

    def only_computed_with(self, x: Value) -> bool:
        """Whether a value goes into nothing but ops that make new arrays of it."""
        used = self._users.get(x, set())
        plain = all(user in OPS and OPS[user].effect == PURE and not user.startswith("py.") for user in used)
        return plain and not any(node.inputs[0] is x for node in self.views.values())

    # ------------------------------------------------------------------ classes
    _writes_constants = False
    culprit: Node | None = None  # the first node that may do anything

    def _root(self, x: Value) -> Value:
        while self.parent[x] is not x:
            x = self.parent[x]
        return x

    def _new(self, x: Value, made: Class) -> None:
        self.parent[x] = x
        self.classes[x] = made

    def _join(self, x: Value, y: Operand, extra: int = 0) -> None:
        """Both may share memory.  extra: origins that come in besides."""
        if not in_memory(y.type) and not isinstance(y, Value):
            y_class = Class(1, True) if not isinstance(y.type, StaticType) else Class(0)
        elif isinstance(y, Value) and y in self.parent:
            y_class = self.of(y)
        else:
            return
        if x not in self.parent:
            self._new(x, Class())
        mine = self.of(x)
        if mine is not y_class:
            mine.origins += y_class.origins
            mine.outside |= y_class.outside
            mine.written |= y_class.written
            mine.exposed |= y_class.exposed
            mine.heirs += y_class.heirs
        mine.origins += extra
        if isinstance(y, Value) and y in self.parent and self._root(y) is not self._root(x):
            self.parent[self._root(y)] = self._root(x)

    def _fresh(self, node: Node) -> None:
        for out in node.outputs:
            if in_memory(out.type):
                self._new(out, Class(1))

    def _write(self, x: Operand) -> None:
        if isinstance(x, Value) and x in self.parent:
            self.of(x).written = True
        else:
            self._writes_constants = True

    # ------------------------------------------------------------------ nodes
    def _node(self, node: Node) -> None:
        if node.op == "cond" or node.op == "with" and is_errstate(self._makers.get(node.inputs[0])):
            self._cond(node)
        elif is_errstate(node):
            self._fresh(node)
        elif node.op in ("while", "for"):
            self._loop(node)
        elif node.regions:
            self._anything(node)
        elif mark_of(node) is not None:
            self._handed(node)
        elif adds_into(node):
            self._write(node.inputs[1])
        elif node.inputs and is_list(node.inputs[0].type) or list_call(node):
            self._listed(node)
        elif node.op in ("py.tuple", "py.list", "py.slice", "py.dict"):
            self._holder(node)
        elif node.op == "getitem":
            self._getitem(node)
        elif node.op in WRITING or node.op in SAME:
            if node.op in WRITING:
                self._write(node.inputs[0])
            self._view(node, node.inputs[0])
        elif node.op == "setitem" and isinstance(node.inputs[0].type, ArrayType):
            self._write(node.inputs[0])
        elif node.op == "raise" or harmless(node) or pure_call(node):
            self._fresh(node)
        elif node.op == "py.getattr" and isinstance(node.inputs[0].type, ArrayType):
            self._view(node, node.inputs[0])
        else:
            self._row(node)

    def _row(self, node: Node) -> None:
        effect = effect_of(node, OPS)
        if overwrites(node):
            self._write(node.inputs[0])
        if effect == EFFECT:
            self._anything(node)
        elif effect != PURE:
            target = node.keyword_inputs.get("out", node.inputs[0])
            for part in node.inputs if target.type != node.inputs[0].type else (target,):
                self._write(part)
            self._fresh(node)
            for out in node.outputs:
                if in_memory(out.type):
                    self._join(out, target)
        elif len(node.outputs) == 1 and (node.op in SURE_VIEWS or self._reshaped(node)):
            self._view(node, node.inputs[0])
        elif may_look(node) or not all(isinstance(o.type, ArrayType) for o in node.outputs):
            self._fresh(node)
            for out in node.outputs:
                for x in node.inputs:
                    if in_memory(out.type) and in_memory(x.type):
                        self._join(out, x)
        else:
            self._fresh(node)

    def _reshaped(self, node: Node) -> bool:
        """Whether the result is the memory of an array that was just made, in another shape."""
        maker = self._makers.get(node.inputs[0]) if node.inputs else None
        if maker is None or maker.op not in _IN_ORDER or node.op not in _RESHAPING:
            return False
        given = [x.value for x in (*maker.inputs, *node.inputs) if isinstance(x, Const)]
        named = {"order", "copy"} & {*maker.keywords, *node.keywords}
        return not named and not any(isinstance(x, str) for x in given)

    def _view(self, node: Node, x: Operand) -> None:
        out = node.outputs[0]
        if in_memory(out.type):
            self._join(out, x)
            if out not in self.parent:  # of a constant
                self._new(out, Class(1, True))
            self.views[out] = node

    def _getitem(self, node: Node) -> None:
        array, key = node.inputs
        out = node.outputs[0]
        if not in_memory(out.type):
            return
        if isinstance(array.type, TupleType):
            self._join(out, array)
            if out not in self.parent:
                self._new(out, Class(1, True))
        elif isinstance(array.type, ArrayType) and basic_key(key.type):
            self._view(node, array)
        elif isinstance(array.type, ArrayType) and fancy_key(key.type):
            self._fresh(node)
        elif isinstance(array.type, ArrayType):
            self._join(out, array, extra=1)
        else:
            self._new(out, Class(2, True))

    def _handed(self, node: Node) -> None:
        """A value that has a derivative of its own."""
        mark = mark_of(node)
        assert mark is not None
        self._fresh(node)
        for out in node.outputs:
            for x in node.inputs[1 : 1 + mark.values] if in_memory(out.type) else ():
                self._join(out, x)

    def _listed(self, node: Node) -> None:
        """What is done to a list: what it holds is not known one by one, so items may not be written to."""
        call = list_call(node)
        reads = node.op == "getitem" and basic_key(node.inputs[1].type) and not is_list(node.outputs[0].type)
        if call in ("append", "pop") or node.op == "setitem":
            self._write(node.inputs[1 if call else 0])
            for x in node.inputs[2:]:
                self._exposed(x)
        elif not call and not reads and (node.op not in OPS or effect_of(node, OPS) != PURE):
            self._anything(node)
            return
        for out in node.outputs:
            if in_memory(out.type):
                taken = reads or call == "pop"
                self._new(out, Class(2, True) if taken else Class(1))

    def _exposed(self, x: Operand) -> None:
        """The array can be reached by others, too."""
        if isinstance(x, Value) and x in self.parent:
            mine = self.of(x)
            mine.outside, mine.exposed, mine.origins = True, True, mine.origins + 1

    def _holder(self, node: Node) -> None:
        out = node.outputs[0]
        if not in_memory(out.type):
            return
        self._fresh(node)
        if node.op == "py.list" and self.goes_on(out):
            for x in node.inputs:
                self._exposed(x)
        elif any(user not in OPS or OPS[user].effect != PURE for user in self._users.get(out, ())):
            for x in node.inputs:
                if in_memory(x.type):
                    self._join(out, x)
        elif isinstance(out.type, TupleType):
            for x in node.inputs:
                if in_memory(x.type):
                    self._join(out, x)

    def _anything(self, node: Node) -> None:
        """A node that may do anything to what it is given, and to what is from outside."""
        self.unknown = True
        self.culprit = self.culprit or node
        for x in node.inputs:
            if in_memory(x.type) and isinstance(x, Value) and x in self.parent:
                found = self.of(x)
                found.outside = found.written = True
                found.origins += 1
        for out in node.outputs:
            if in_memory(out.type):
                self._new(out, Class(2, True))
                for x in node.inputs:
                    if in_memory(x.type):
                        self._join(out, x)

    def _cond(self, node: Node) -> None:
        operands = node.inputs[1:]
        skip = node.op == "with"  # the region's first parameter is what entering gave
        arms = [(arm, aliases_of(arm)) for arm in node.regions]
        for arm, inner in arms:
            self._inner_writes(inner, node.inputs if skip else operands)
        handed = self._handed_on(node, operands, skip)
        for k, out in enumerate(node.outputs):
            if in_memory(out.type):
                ways = [(inner, arm.results[k]) for arm, inner in arms if not arm.diverges]
                params = [arm.params[skip:] for arm, _ in arms if not arm.diverges]
                self._either(out, ways, operands, params, handed)
        for arm, inner in arms:
            if not arm.diverges:
                self._together(node, arm, inner)

    def _together(self, node: Node, region: Graph, inner: Aliases) -> None:
        """Results of a region that share memory there go on sharing it."""
        pairs = list(zip(node.outputs, region.results, strict=True))
        for k, (out, result) in enumerate(pairs):
            for other, another in pairs[:k]:
                if isinstance(result, Value) and isinstance(another, Value) and inner.same(another, result):
                    self._join(other, out, extra=1)

    def _either(
        self,
        out: Value,
        ways: list[tuple[Aliases, Operand]],
        operands: Sequence[Operand],
        params: list[tuple[Value, ...]],
        handed: set[Operand],
    ) -> None:
        """A value that comes from one of several regions."""
        self._new(out, Class(1))
        for (inner, result), names in zip(ways, params, strict=True):
            if isinstance(result, Value) and result in inner.parent:
                for p, x in zip(names, operands, strict=True):
                    if inner.same(p, result) and p is result and x in handed:
                        self.of(x).heirs.append(out)
                    elif inner.same(p, result):
                        self._join(out, x, extra=1)
                found = inner.of(result)
                if found.origins > 1 and not found.outside:
                    self.of(out).origins += 1
            elif in_memory(result.type):
                self._join(out, result, extra=1)

    def _loop(self, node: Node) -> None:
        first = 1 if node.op == "for" else 0
        count: int = node.attr("carries")
        body = node.regions[1] if node.op == "while" else node.regions[0]
        inner = aliases_of(body)
        self._inner_writes(inner, node.inputs)
        if len(node.regions) > 1:
            test = node.regions[0] if node.op == "while" else node.regions[1]
            self._inner_writes(aliases_of(test), node.inputs[first:])
        self.owned[node] = owned = self._owned(node, body, inner)
        ways = _ways(body, inner, owned, first)
        for k, out in enumerate(node.outputs):
            if not in_memory(out.type):
                continue
            self._new(out, Class(1))
            if k in owned:
                for j in owned:
                    if k in ways[j]:
                        self.of(node.inputs[first + j]).heirs.append(out)
                continue
            self._join(out, node.inputs[first + k], extra=1)
            if not body.diverges:
                result = body.results[k]
                for p, x in zip(body.params, node.inputs, strict=True):
                    if isinstance(result, Value) and inner.same(p, result):
                        self._join(out, x, extra=1)
        for k, out in enumerate(node.outputs[:count]):
            if (
                in_memory(out.type)
                and k not in owned
                and body.params[first + k] in inner.parent
                and inner.of(body.params[first + k]).written
            ):
                self.of(out).written = True
        if not body.diverges:
            self._together(node, body, inner)
        for j in owned:
            if any(inner.of(body.params[first + k]).written for k in ways[j]):
                self._write(node.inputs[first + j])

    def _handed_on(self, node: Node, operands: Sequence[Operand], skip: bool) -> set[Operand]:
        """The operands of a branch that are not used after it, but perhaps as one of its results."""
        found = {x for x in operands if self._given_away(node, x)}
        for region in node.regions:
            for p, x in zip(region.params[skip:], operands, strict=True):
                if region.results.count(p) > 1:
                    found.discard(x)
        return found

    def _owned(self, node: Node, body: Graph, inner: Aliases) -> frozenset[int]:
        """The carries that begin as an array of their own, which nobody looks at later, and are one after
        each trip, be it that of another such carry."""
        first, count = int(node.op == "for"), node.attr("carries")
        if body.diverges:
            return frozenset()
        found = {k for k in range(count) if self._given_away(node, node.inputs[first + k])}
        own = {body.params[first + k]: k for k in range(count)}
        while True:
            bad = {k for k in found if not self._still_own(body, inner, k, found, own)}
            if not bad:
                return frozenset(found)
            found -= bad

    def _given_away(self, node: Node, x: Operand) -> bool:
        """Whether an operand of a loop is all of an array that is not used any more."""
        if not isinstance(x, Value) or not isinstance(x.type, ArrayType) or x not in self.parent:
            return False
        mine = self.of(x)
        alike = {v for v in self.parent if self.same(v, x)}
        later = self._nodes[self._nodes.index(node) + 1 :]
        used = [i for n in (node, *later) for i in n.inputs if i in alike]
        used += [r for r in self._results if r in alike]
        return mine.origins == 1 and not mine.outside and len(used) == 1

    def _still_own(self, body: Graph, inner: Aliases, k: int, found: set[int], own: dict[Value, int]) -> bool:
        result = body.results[k]
        if not isinstance(result, Value) or result not in inner.parent or inner.of(result).origins != 1:
            return False
        others = [r for j, r in enumerate(body.results) if j != k and isinstance(r, Value)]
        params = [p for p in body.params if inner.same(p, result)]
        return not any(inner.same(r, result) for r in others) and all(own.get(p) in found for p in params)

    def _inner_writes(self, inner: Aliases, operands: Sequence[Operand]) -> None:
        self.unknown |= inner.unknown
        self.culprit = self.culprit or inner.culprit
        self._writes_constants |= inner._writes_constants
        for x, written in zip(operands, inner.written_params, strict=True):
            if written:
                self._write(x)
        for x, param in zip(operands, inner.params, strict=True):
            if param in inner.parent and inner.of(param).exposed:
                self._exposed(x)
        if inner.unknown:
            for x in operands:
                if in_memory(x.type) and isinstance(x, Value) and x in self.parent:
                    self.of(x).outside = self.of(x).written = True


def _ways(body: Graph, inner: Aliases, owned: Collection[int], first: int) -> dict[int, set[int]]:
    """For each of the carries, as which of them its array may go on, where trips exchange them."""
    found = {j: {j} for j in owned}
    for _ in owned:
        for reached in found.values():
            params = [body.params[first + j] for j in reached]
            reached |= {k for k in owned for p in params if inner.same(p, body.results[k])}  # type: ignore[arg-type]
    return found


_FOUND: weakref.WeakKeyDictionary[Graph, Aliases] = weakref.WeakKeyDictionary()


def aliases_of(graph: Graph) -> Aliases:
    """The classes of a graph, found once."""
    found = _FOUND.get(graph)
    if found is None:
        found = _FOUND[graph] = Aliases(graph)
    return found


def _users(graph: Graph) -> dict[Value, set[str]]:
    found: dict[Value, set[str]] = {}
    for node in graph.nodes:
        for x in node.inputs:
            if isinstance(x, Value):
                found.setdefault(x, set()).add(node.op)
    for x in graph.results:
        if isinstance(x, Value):
            found.setdefault(x, set()).add("the result")
    return found


def may_look(node: Node) -> bool:
    """Whether an op of the table may give an operand itself, or a look at it."""
    if node.op in ("np.round", "np.around", "np.diff"):
        return not makes_new(node, OPS)
    if node.op == "np.linalg.matrix_power":
        exponent = node.inputs[1] if len(node.inputs) > 1 else None
        return not (isinstance(exponent, Const) and type(exponent.value) is int and exponent.value != 1)
    return (
        node.op in _MAYBE_VIEWS
        or "copy" in node.keywords
        or (node.op == "nd.astype" and len(node.positional) > 5)
        or (node.op == "np.einsum" and _keeps_axes(node))
    )


def _keeps_axes(node: Node) -> bool:
    """Whether np.einsum may give a look at its operand: it has one, of which no axis is summed over."""
    text = node.inputs[0].value if isinstance(node.inputs[0], Const) else None
    if not isinstance(text, str):
        return True  # with lists of axes, among others
    given, arrow, wanted = text.replace(" ", "").partition("->")
    kept = wanted if arrow else [c for c in given if given.count(c) == 1]
    return len(node.positional) == 2 and set(given) <= {".", *kept}


def basic_key(t: Type) -> bool:
    """Whether indexing with such a key surely gives a view."""
    if isinstance(t, StaticType):
        return is_basic(t.value)
    if isinstance(t, TupleType):
        return t.cls is tuple and all(map(basic_key, t.items))
    if isinstance(t, WeakType):
        return t.kind == "int"
    if isinstance(t, ArrayType):
        return t.scalar and t.dtype.kind in "iu"
    return t == ObjectType(slice)


def fancy_key(t: Type) -> bool:
    """Whether indexing with such a key surely gives a copy."""
    if isinstance(t, TupleType):
        return any(map(fancy_key, t.items)) and all(basic_key(i) or fancy_key(i) for i in t.items)
    return isinstance(t, ArrayType) and (not t.scalar or t.dtype == bool)
