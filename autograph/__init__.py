"""Plain Python and NumPy functions, control flow and all, as graphs.

`function` runs a function's calls as graphs.  `convert` and `to_code` give the functional form of its
source.  The names in lower case with an underscore, and `cond`, `while_loop`, `for_loop`, `call` and
their like, are what that form calls; they do what Python does when nothing is being traced.
"""

from __future__ import annotations

from autograph.api import convert, do_not_convert, explain, function, to_code
from autograph.operators import matching as pattern
from autograph.operators.calls import attribute, call, python
from autograph.operators.containers import (
    dict_,
    dict_comp,
    dict_merge,
    generator,
    list_,
    list_comp,
    set_,
    set_comp,
    unpack,
)
from autograph.operators.logic import and_, in_, is_, is_not, not_, not_in, or_
from autograph.operators.matching import match
from autograph.operators.variables import Cell, bound, global_cell, raise_, unbound
from runtime import (
    AutographError,
    CheckError,
    ConcreteFunction,
    ConcreteValueError,
    ConversionRefused,
    DeviceError,
    ExportError,
    GeneratorError,
    GraphError,
    GuardError,
    LeakedTensorError,
    PolymorphicFunction,
    RetraceWarning,
    SignatureError,
    SourceNotFound,
    TensorBoolError,
    TensorSpec,
    TraceError,
    UnboundNameError,
    Untraceable,
    cond,
    executing_eagerly,
    for_loop,
    run_functions_eagerly,
    settings,
    while_loop,
)

__all__ = [
    "AutographError",
    "Cell",
    "CheckError",
    "ConcreteFunction",
    "ConcreteValueError",
    "ConversionRefused",
    "DeviceError",
    "ExportError",
    "GeneratorError",
    "GraphError",
    "GuardError",
    "LeakedTensorError",
    "PolymorphicFunction",
    "RetraceWarning",
    "SignatureError",
    "SourceNotFound",
    "TensorBoolError",
    "TensorSpec",
    "TraceError",
    "UnboundNameError",
    "Untraceable",
    "and_",
    "attribute",
    "bound",
    "call",
    "cond",
    "convert",
    "dict_",
    "dict_comp",
    "dict_merge",
    "do_not_convert",
    "executing_eagerly",
    "explain",
    "for_loop",
    "function",
    "generator",
    "global_cell",
    "in_",
    "is_",
    "is_not",
    "list_",
    "list_comp",
    "match",
    "not_",
    "not_in",
    "or_",
    "pattern",
    "python",
    "raise_",
    "run_functions_eagerly",
    "set_",
    "set_comp",
    "settings",
    "to_code",
    "unbound",
    "unpack",
    "while_loop",
]
