"""A tracer for tests of the function layer alone: its graph is one call of the Python function."""

from __future__ import annotations

import pytest

from runtime.errors import Untraceable
from runtime.function.polymorphic import PolymorphicFunction
from runtime.ir.graph import Const, Graph, Node, Value
from runtime.trace.record import TraceResult
from runtime.types import OBJECT, StaticType


class CallTracer:
    """Records what it is asked for; `guards` and `refuse` say what the next traces do."""

    def __init__(self, function):
        self.function = function
        self.calls = []  # types of each traced call
        self.volatile = []  # the volatile paths of each
        self.guards = ()
        self.refuse = lambda types: False

    def __call__(self, positional, keywords, *, name, strict, volatile):
        arguments = [*positional, *keywords.values()]
        types = tuple(argument.type for argument in arguments)
        self.calls.append(types)
        self.volatile.append(volatile)
        if self.refuse(types):
            raise Untraceable("the test refuses this")
        static = [t.value if isinstance(t, StaticType) else None for t in types]
        free = [i for i, t in enumerate(types) if not isinstance(t, StaticType)]
        names, function, count = list(keywords), self.function, len(positional)

        def run(*values):
            everything = list(static)
            for i, value in zip(free, values, strict=True):
                everything[i] = value
            return function(*everything[:count], **dict(zip(names, everything[count:], strict=True)))

        params = tuple(Value(types[i], arguments[i].name) for i in free)
        result = Value(OBJECT, "result")
        node = Node("py.call", (Const(run), *params), (result,))
        guards = tuple(guard for guard in self.guards if guard.path.key not in volatile)
        return TraceResult(Graph(name, params, (node,), (result,)), guards, ())


@pytest.fixture
def make():
    """make(function, **options) -> (polymorphic function, its tracer)."""

    def maker(function, **options):
        tracer = CallTracer(function)
        return PolymorphicFunction(function, tracer, **options), tracer

    return maker
