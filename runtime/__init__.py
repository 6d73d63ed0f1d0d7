"""Graphs in, arrays out: traced functions, their graphs and plans, usable by hand.

`function` traces Python functions as they stand; control flow on traced values is written with `cond`,
`while_loop` and `for_loop`.  The package `autograph` writes that form for you.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.api import function
from runtime.config import settings
from runtime.errors import (
    AutographError,
    CheckError,
    ConcreteValueError,
    ConversionRefused,
    DeviceError,
    ExportError,
    GeneratorError,
    GradientError,
    GraphError,
    GuardError,
    LeakedTensorError,
    NewTraceError,
    SignatureError,
    SourceNotFound,
    Span,
    StructureError,
    TensorBoolError,
    TraceError,
    Untraceable,
    VariableError,
)
from runtime.function.concrete import ConcreteFunction
from runtime.function.polymorphic import (
    PolymorphicFunction,
)
from runtime.lazy import on_demand

if TYPE_CHECKING:
    from runtime.batching import vmap
    from runtime.function.accounts import RetraceWarning, no_new_traces
    from runtime.function.eager import executing_eagerly, run_functions_eagerly
    from runtime.function.spec import TensorSpec
    from runtime.functional import cond, for_loop, try_, while_loop, with_
    from runtime.ir.graph import Const, Graph, Node, Value
    from runtime.scans import map_fn, scan, switch_case
    from runtime.scopes import init_scope, py_function, unroll
    from runtime.tensor_array import TensorArray
    from runtime.threads import get_num_threads, set_num_threads
    from runtime.types import (
        ArrayType,
        MaybeUnbound,
        ObjectType,
        StaticType,
        TupleType,
        UnboundType,
        WeakType,
    )
    from runtime.variable import Variable
    from runtime.vectorizing import vectorize
else:
    __getattr__, __dir__ = on_demand(
        globals(),
        {
            "runtime.batching": "vmap",
            "runtime.function.accounts": "RetraceWarning no_new_traces",
            "runtime.function.eager": "executing_eagerly run_functions_eagerly",
            "runtime.function.spec": "TensorSpec",
            "runtime.functional": "cond for_loop try_ while_loop with_",
            "runtime.ir.graph": "Const Graph Node Value",
            "runtime.scans": "map_fn scan switch_case",
            "runtime.scopes": "init_scope py_function unroll",
            "runtime.tensor_array": "TensorArray",
            "runtime.threads": "get_num_threads set_num_threads",
            "runtime.types": ("ArrayType MaybeUnbound ObjectType StaticType TupleType UnboundType WeakType"),
            "runtime.variable": "Variable",
            "runtime.vectorizing": "vectorize",
        },
    )

__all__ = [
    "ArrayType",
    "AutographError",
    "CheckError",
    "ConcreteFunction",
    "ConcreteValueError",
    "Const",
    "ConversionRefused",
    "DeviceError",
    "ExportError",
    "GeneratorError",
    "GradientError",
    "Graph",
    "GraphError",
    "GuardError",
    "LeakedTensorError",
    "MaybeUnbound",
    "NewTraceError",
    "Node",
    "ObjectType",
    "PolymorphicFunction",
    "RetraceWarning",
    "SignatureError",
    "SourceNotFound",
    "Span",
    "StructureError",
    "StaticType",
    "TensorBoolError",
    "TensorArray",
    "TensorSpec",
    "TraceError",
    "TupleType",
    "UnboundType",
    "Untraceable",
    "Value",
    "Variable",
    "VariableError",
    "WeakType",
    "cond",
    "executing_eagerly",
    "for_loop",
    "function",
    "get_num_threads",
    "init_scope",
    "map_fn",
    "no_new_traces",
    "py_function",
    "run_functions_eagerly",
    "scan",
    "set_num_threads",
    "settings",
    "switch_case",
    "try_",
    "unroll",
    "vectorize",
    "vmap",
    "while_loop",
    "with_",
]
