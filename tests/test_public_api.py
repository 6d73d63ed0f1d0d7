"""The public names, and what a bare import brings along."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import autograph as ag

NAMES = (
    "function convert to_code do_not_convert TensorSpec cond while_loop for_loop try_ with_ "
    "run_functions_eagerly "
    # what generated code calls
    "and_ or_ not_ is_ is_not in_ not_in item keywords part percent call attribute "
    "list_ dict_ set_ dict_merge list_comp set_comp dict_comp "
    "generator unpack Cell global_cell unbound bound raise_ import_ import_from tuple_ "
    # derivatives
    "grad value_and_grad vjp jvp jacobian hessian GradientTape custom_gradient stop_gradient checkpoint "
    "check_grads GradientError "
    # errors
    "AutographError SourceNotFound ConversionRefused GeneratorError TraceError Untraceable TensorBoolError "
    "ConcreteValueError LeakedTensorError GuardError GraphError SignatureError CheckError "
    "ExportError DeviceError"
).split()


@pytest.mark.parametrize("name", NAMES)
def test_name_is_public_and_documented(name: str) -> None:
    assert name in ag.__all__
    assert inspect.getdoc(getattr(ag, name))


def test_errors_have_one_base() -> None:
    classes = [value for value in vars(ag).values() if isinstance(value, type)]
    errors = [cls for cls in classes if issubclass(cls, BaseException)]
    ours = [cls for cls in errors if cls.__module__.startswith(("runtime", "autograph"))]
    assert ours and all(issubclass(cls, (ag.AutographError, Warning)) for cls in ours)


def test_all_is_true() -> None:
    assert len(set(ag.__all__)) == len(ag.__all__)
    for name in ag.__all__:
        assert hasattr(ag, name)


def printed(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


def test_bare_import_is_light() -> None:
    heavy = "{'cupy', 'llvmlite', 'pygments', 'pytest'}"
    assert printed(f"import sys, autograph; print(sorted({heavy} & set(sys.modules)))") == "[]"


def test_runtime_does_not_load_the_transpiler() -> None:
    source = "{'autograph', 'gast', 'astunparse'}"
    assert printed(f"import sys, runtime; print(sorted({source} & set(sys.modules)))") == "[]"
