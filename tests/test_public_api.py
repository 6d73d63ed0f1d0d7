"""The public names, and what a bare import brings along."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import autograph as ag

NAMES = (
    "function convert to_code do_not_convert TensorSpec cond while_loop for_loop try_ with_ "
    "run_functions_eagerly "
    # what generated code calls
    "and_ or_ not_ is_ is_not in_ not_in item keywords part percent spread call attribute "
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
    classes = [value for name in ag.__all__ if isinstance(value := getattr(ag, name), type)]
    errors = [cls for cls in classes if issubclass(cls, BaseException)]
    ours = [cls for cls in errors if cls.__module__.startswith(("runtime", "autograph"))]
    assert ours and all(issubclass(cls, (ag.AutographError, Warning)) for cls in ours)


def test_all_is_true() -> None:
    assert len(set(ag.__all__)) == len(ag.__all__)
    for name in ag.__all__:
        assert hasattr(ag, name)


def test_dir_lists_what_is_public() -> None:
    import runtime

    for package in (ag, runtime):
        named = {name for name in dir(package) if not name.startswith("__")}
        assert named == set(package.__all__)
    assert "__version__" in dir(ag)


def printed(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


def test_bare_import_is_light() -> None:
    heavy = "{'cupy', 'llvmlite', 'pygments', 'pytest'}"
    assert printed(f"import sys, autograph; print(sorted({heavy} & set(sys.modules)))") == "[]"


def test_first_calls_load_what_they_need(tmp_path: Path) -> None:
    file = tmp_path / "first_calls.py"
    file.write_text(
        textwrap.dedent("""
        import sys
        import numpy as np
        import autograph as ag

        @ag.function
        def chain(x):
            return np.sqrt(np.exp(x) + x * x) / (1.0 + np.abs(x))

        @ag.function
        def loop(x):
            total = 0.0
            for v in x:
                total += v
            return total

        @ag.vectorize
        def each(x):
            return x + 1.0

        x = np.arange(100_000.0)
        chain(x), loop(x), each(x), chain.plan_source
        chain.get_concrete_function(x).native
        heavy = {"numpy.f2py", "numpy.testing", "numpy.ma", "numpy.polynomial", "unittest", "hashlib"}
        print(sorted(heavy & set(sys.modules)))
    """)
    )
    done = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, timeout=60, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("package", ["autograph", "runtime"])
def test_names_are_loaded_when_they_are_used(package: str) -> None:
    code = f"""
        import {package} as p, types
        before = dict(vars(p))
        wrong = [n for n in p.__all__ if n not in dir(p) or isinstance(before.get(n), types.ModuleType)]
        late = [n for n in p.__all__ if n not in before]
        values = {{n: getattr(p, n) for n in p.__all__}}
        again = [n for n in p.__all__ if getattr(p, n) is not values[n] or n not in vars(p)]
        try:
            p.nothing_of_this_name
        except AttributeError as error:
            print(wrong, len(late) > 10, again, error)
    """
    wanted = f"[] True [] module '{package}' has no attribute 'nothing_of_this_name'"
    assert printed(textwrap.dedent(code)) == wanted


def test_names_of_modules_keep_their_meaning() -> None:
    code = """
        import autograph as ag
        import autograph.explain, autograph.convert, runtime.function.spec, runtime
        print(callable(ag.explain), callable(ag.convert), callable(runtime.function), ag.data.__name__)
    """
    assert printed(textwrap.dedent(code)) == "True True True autograph.data"


def test_runtime_does_not_load_the_transpiler() -> None:
    source = "{'autograph', 'gast', 'astunparse'}"
    assert printed(f"import sys, runtime; print(sorted({source} & set(sys.modules)))") == "[]"
