"""Plain Python and NumPy functions, control flow and all, as graphs.

`function` runs a function's calls as graphs.  `convert` and `to_code` give the functional form of its
source.  The names in lower case with an underscore, and `cond`, `while_loop`, `for_loop`, `call` and
their like, are what that form calls; they do what Python does when nothing is being traced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autograph.api import convert, do_not_convert, explain, function, to_code
from runtime.lazy import on_demand

__version__ = "0.1.0"

if TYPE_CHECKING:
    from autograph import data
    from autograph.batching import vectorize, vmap
    from autograph.gradients import (
        GradientTape,
        check_grads,
        checkpoint,
        custom_gradient,
        grad,
        hessian,
        jacobian,
        jvp,
        stop_gradient,
        value_and_grad,
        vjp,
    )
    from autograph.operators import matching as pattern
    from autograph.operators.calls import attribute, call, call_with, python, settable
    from autograph.operators.containers import (
        dict_,
        dict_comp,
        dict_merge,
        generator,
        keywords,
        list_,
        list_comp,
        set_,
        set_comp,
        spread,
        tuple_,
        unpack,
    )
    from autograph.operators.imports import import_, import_from
    from autograph.operators.logic import (
        all_true,
        and_,
        any_true,
        in_,
        is_,
        is_not,
        item,
        keyed,
        not_,
        not_in,
        or_,
        part,
        percent,
    )
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
        GradientError,
        GraphError,
        GuardError,
        LeakedTensorError,
        NewTraceError,
        PolymorphicFunction,
        RetraceWarning,
        SignatureError,
        SourceNotFound,
        StructureError,
        TensorArray,
        TensorBoolError,
        TensorSpec,
        TraceError,
        Untraceable,
        Variable,
        VariableError,
        cond,
        executing_eagerly,
        for_loop,
        get_num_threads,
        init_scope,
        map_fn,
        no_new_traces,
        py_function,
        run_functions_eagerly,
        scan,
        set_num_threads,
        settings,
        switch_case,
        try_,
        unroll,
        while_loop,
        with_,
    )
else:
    __getattr__, __dir__ = on_demand(
        globals(),
        {
            "autograph.batching": "vectorize vmap",
            "autograph.gradients": (
                "GradientTape check_grads checkpoint custom_gradient grad hessian "
                "jacobian jvp stop_gradient value_and_grad vjp"
            ),
            "autograph.operators.calls": "attribute call call_with python settable",
            "autograph.operators.containers": (
                "dict_ dict_comp dict_merge generator keywords list_ list_comp set_ set_comp spread tuple_ "
                "unpack"
            ),
            "autograph.operators.imports": "import_ import_from",
            "autograph.operators.logic": (
                "all_true and_ any_true in_ is_ is_not item keyed not_ not_in or_ part percent"
            ),
            "autograph.operators.matching": "match",
            "autograph.operators.variables": "Cell bound global_cell raise_ unbound",
            "runtime": (
                "AutographError CheckError ConcreteFunction ConcreteValueError "
                "ConversionRefused DeviceError ExportError GeneratorError GradientError "
                "GraphError GuardError LeakedTensorError NewTraceError "
                "PolymorphicFunction RetraceWarning SignatureError SourceNotFound "
                "StructureError TensorArray TensorBoolError TensorSpec TraceError Untraceable Variable "
                "VariableError cond executing_eagerly for_loop get_num_threads init_scope map_fn "
                "no_new_traces py_function run_functions_eagerly scan set_num_threads settings "
                "switch_case try_ unroll while_loop with_"
            ),
        },
        data="autograph.data",
        pattern="autograph.operators.matching",
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
    "GradientError",
    "GradientTape",
    "GraphError",
    "GuardError",
    "LeakedTensorError",
    "NewTraceError",
    "PolymorphicFunction",
    "RetraceWarning",
    "SignatureError",
    "SourceNotFound",
    "StructureError",
    "TensorArray",
    "TensorBoolError",
    "TensorSpec",
    "TraceError",
    "Untraceable",
    "Variable",
    "VariableError",
    "all_true",
    "and_",
    "any_true",
    "attribute",
    "bound",
    "call",
    "call_with",
    "check_grads",
    "checkpoint",
    "cond",
    "convert",
    "custom_gradient",
    "data",
    "dict_",
    "dict_comp",
    "dict_merge",
    "do_not_convert",
    "executing_eagerly",
    "explain",
    "for_loop",
    "function",
    "generator",
    "get_num_threads",
    "global_cell",
    "grad",
    "hessian",
    "import_",
    "import_from",
    "in_",
    "init_scope",
    "is_",
    "is_not",
    "item",
    "jacobian",
    "jvp",
    "keyed",
    "keywords",
    "list_",
    "list_comp",
    "map_fn",
    "match",
    "no_new_traces",
    "not_",
    "not_in",
    "or_",
    "part",
    "pattern",
    "percent",
    "py_function",
    "python",
    "raise_",
    "run_functions_eagerly",
    "scan",
    "set_",
    "set_comp",
    "set_num_threads",
    "settable",
    "settings",
    "spread",
    "stop_gradient",
    "switch_case",
    "to_code",
    "try_",
    "tuple_",
    "unbound",
    "unpack",
    "unroll",
    "value_and_grad",
    "vectorize",
    "vjp",
    "vmap",
    "while_loop",
    "with_",
]
