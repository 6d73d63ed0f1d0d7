"""`ag.explain`: each statement as staged, static or Python, with the reason and the line."""

from __future__ import annotations

import re
import textwrap

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from tests.autograph.test_source import load

PROGRAM = """\
    import numpy as np
    import autograph as ag

    rate = 0.5

    def helper(v):
        return v + 1

    @ag.do_not_convert
    def outside(v):
        return v

    def f(x, n):
        '''What it does.'''
        scale = 2 * n
        total = 0
        for k in range(n):
            total += x.sum() * scale
        for v in x:
            if v > 3:
                total = total + helper(v)
            elif n == 2:
                total = total - rate
        while total > 100:
            total = total / 2
        total = outside(total)
        print("total",
              total)
        zero = 0
        if total > 1e6:
            total = 1 // zero
        def pieces():
            yield 1
        for piece in pieces():
            total += piece
        return total

    def refused(x):
        names = locals()
        for k in range(3):
            x = eval("x + 1")
        return x, names

    def pieces(n):
        yield n

    class Model:
        def __init__(self):
            self.w = 2.0

        @ag.function
        def score(self, x):
            return self.w * x
    """


@pytest.fixture
def module(tmp_path):
    return load(tmp_path, PROGRAM)


def table(statements) -> str:
    """Line within the program, how, text and reason of each."""
    return "\n".join(str(s) for s in statements)


def test_each_statement_of_a_trace(module):
    f = ag.function(module.f)
    f(np.ones(3), 2)
    (trace,) = ag.explain(f).traces
    assert trace.parameters == (("x", "float64[3]"), ("n", "=2"))
    assert trace.reason == "first call" and trace.plain is None
    assert trace.inlined == ("helper (sample.py)",)
    assert {"global 'rate'", "global 'helper'"} <= set(trace.guards)
    assert textwrap.dedent(table(trace.statements)) == textwrap.dedent("""\
        15  static      scale = 2 * n
        16  static      total = 0
        17  static      for k in range(n):  # unrolled
        18  staged          total += x.sum() * scale
        19  staged      for v in x:  # a loop in the graph
        20  staged          if v > 3:  # both ways recorded
        21  staged              total = total + helper(v)
        22  static          elif n == 2:
        23  staged              total = total - rate
        24  staged      while total > 100:  # a loop in the graph
        25  staged          total = total / 2
        26  staged      total = outside(total)  # calls outside as plain Python
        27  staged      print("total",
        29  static      zero = 0
        30  python      if total > 1e6:  # the statement runs as plain Python: tracing it raised %s
        31  python          total = 1 // zero
        32  python      def pieces():  # classes and generators stay as they are written
        33  python          yield 1
        34  python      for piece in pieces():  # %s; a loop in the graph
        35  staged          total += piece
        36  static      return total""") % (
        "ZeroDivisionError: integer division or modulo by zero, line 31",
        "f.<locals>.pieces is a generator or coroutine function: its body runs as plain Python",
    )


def test_one_record_for_each_trace(module):
    f = ag.function(module.helper)
    f(1.0)
    f(np.ones(2))
    explained = ag.explain(f)
    assert [t.signature for t in explained.traces] == ["helper(v: =1.0)", "helper(v: float64[2])"]
    assert [[s.how for s in t.statements] for t in explained.traces] == [["static"], ["staged"]]
    assert str(explained).count("traced in") == 2


def test_joins_to_object_say_why():
    def best(values):
        found = None
        for value in values:
            if found is None or value > found:
                found = value
        return found

    f = ag.function(best)
    f(np.ones(30))
    notes = [note for note in ag.explain(f).traces[0].notes if note.kind == "object"]
    assert notes[0].reason == "'found' is None or float64, as the data says"
    assert notes[0].span.line == best.__code__.co_firstlineno + 2
    assert "object: 'found' is None or float64, as the data says (test_explain.py:" in str(ag.explain(f))


def test_a_refused_function_and_all_reasons(module):
    f = ag.function(module.refused)
    told = ag.explain(f)
    assert told.summary == "'refused' was not called yet"
    wanted = """\
    39  python      names = locals()  # locals() is not converted
    40  python      for k in range(3):
    41  python          x = eval("x + 1")  # eval() is not converted
    42  python      return x, names"""
    assert table(told.statements) == wanted
    told = ag.explain(module.refused)
    assert told.summary == "'refused' runs as plain Python: locals() is not converted (sample.py:39)"
    assert table(told.statements) == wanted and told.left_to_python == told.statements
    f(1)
    (trace,) = ag.explain(f).traces
    assert trace.plain == "locals() is not converted (sample.py:39)"
    assert [s.how for s in trace.statements] == ["python"] * 4
    assert [s.reason for s in trace.statements if s.reason] == ["locals() is not converted"]
    assert "all other calls of 'refused' run as plain Python" in str(ag.explain(f))


def test_a_trace_that_failed_names_its_line():
    def divided(x):
        zero = 0
        return x / (1 // zero)

    f = ag.function(divided)
    with pytest.raises(ZeroDivisionError):
        f(1.0)
    (trace,) = ag.explain(f).traces
    assert [s.reason != "" for s in trace.statements] == [False, True]
    assert "ZeroDivisionError" in trace.statements[1].reason


def test_what_was_not_given_to_function(module):
    told = ag.explain(module.helper)
    assert told.summary == "'helper' is converted" and [s.how for s in told.statements] == ["staged"]
    told = ag.explain(module.pieces)
    assert told.summary == (
        "'pieces' runs as plain Python: pieces is a generator function, which can't be converted"
    )
    space: dict[str, object] = {}
    exec("def f(x):\n    return x", space)
    assert "the source of f was not found" in ag.explain(space["f"]).summary
    with pytest.raises(ag.SourceNotFound):
        ag.explain(len)


def test_methods(module):
    model = module.Model()
    model.score(np.ones(2))
    for function in (model.score, module.Model.score):
        (trace,) = ag.explain(function).traces
        assert [s.how for s in trace.statements] == ["staged"]
    assert repr(ag.explain(model.score)) == str(ag.explain(model.score))


def test_classes_that_are_called_as_they_are():
    class Meter:
        def __new__(cls, x):
            made = super().__new__(cls)
            made.x = x
            return made

    def f(x):
        meter = Meter(x)
        text = dict(a=x)
        return meter.x + text["a"]

    function = ag.function(f)
    assert function(np.float64(1.0)) == 2.0
    first, second, _ = ag.explain(function).traces[0].statements
    assert first.reason.endswith("Meter as plain Python") and second.reason == ""


def test_lambdas():
    f = ag.function(lambda x: x + 1)
    f(np.ones(2))
    assert [s.how for s in ag.explain(f).traces[0].statements] == ["staged"]


def in_a_text(x):
    out = []
    for i in range(100):
        out.append(f"{x[i]:.2f}")
    return out


def in_a_try(x):
    t = 0.0
    for i in range(100):
        try:
            if x[i] > 5:
                if x[i] > 600:
                    raise ValueError
                t += x[i]
            else:
                t += 2
        except ValueError:
            t += 1
        finally:
            t += 1
    return t


def by_nonlocal(x):
    t = 0.0

    def add(v):
        nonlocal t
        t += v

    for i in range(100):
        add(x[i])
    return t


def of_nothing(x):
    return [x, x]


@pytest.mark.parametrize(
    ("f", "reason"),
    [
        (in_a_text, "a text that is made here"),
        (in_a_try, "'t' is a name that a handler reads"),
        (by_nonlocal, "a variable that a handler or an inner function (nonlocal) shares"),
        (of_nothing, "nothing is computed on numbers or arrays"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_why_there_is_no_native_code_in_words_of_the_source(f, reason):
    pytest.importorskip("llvmlite")
    with settings.override(executor="auto", compile="now"):
        function = ag.function(f)
        function(np.arange(100.0))
        shown = ag.explain(function).traces[0].executor
    assert reason in shown and "py." not in shown


def test_what_stands_where_in_the_text(module):
    function = ag.function(module.f)
    function(np.ones(3), 2)
    lines = str(ag.explain(function)).splitlines()
    kinds = [line.split()[0] if not line.split()[0].isdigit() else "statement" for line in lines]
    assert list(dict.fromkeys(kinds)) == [
        *("f(x:", "traced", "runs", "weighed:", "python:", "statement", "relies"),
    ]
    assert kinds.count("relies") == 1 and "global 'rate', " in lines[kinds.index("relies")]


def test_what_is_told_of_two_calls_in_a_line_is_told_once():
    function = ag.function(fibonacci)
    assert function(np.int64(9)) == 34
    told = "fibonacci calls itself as the data says: this call runs as plain Python (test_explain.py:"
    assert str(ag.explain(function)).count(f"  python: {told}") == 1
    assert str(function.get_concrete_function(np.int64(9))).count(f"  python: {told[:-17]}") == 1


def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


def test_a_statement_whose_tracing_raised_says_what_and_where():
    pytest.importorskip("llvmlite")

    def f(x):
        total = 0.0
        for v in x:
            total += v * v
        number = int("abc") if total > 1e9 else 1
        for v in x:
            if v > 1e9:
                total -= [1, 2][number + 1]
        return total

    with settings.override(executor="auto", compile="now"):
        function = ag.function(f)
        assert function(np.ones(30)) == 30.0
    told = str(ag.explain(function))
    raised = "tracing it raised ValueError: invalid literal for int() with base 10: 'abc'"
    line = f.__code__.co_firstlineno + 4
    assert (
        f"but for what can't: the statement runs as plain Python: {raised} (test_explain.py:{line})" in told
    )


def test_the_text_of_a_function_is_the_same_however_it_is_asked_for(module):
    function = ag.function(module.helper)
    assert function.explain() == str(ag.explain(function))
    assert "staged      return v + 1" in function.explain()
    function(np.ones(2))
    assert function.explain() == str(ag.explain(function))
    batched = ag.vectorize(module.helper)
    assert batched.explain() == str(ag.explain(batched))


def test_a_derivative_that_was_not_called_yet_does_not_know_what_will_run_it(module):
    for made, what in ((ag.grad, "gradient"), (ag.jacobian, "Jacobian"), (ag.hessian, "Hessian")):
        first = f"'helper' was not called yet: whether its {what} is a graph or runs on the tape"
        assert made(module.helper).explain().startswith(first)
    slopes = [ag.grad(lambda x, a=a: a * x) for a in range(20)]
    assert [slope(1.0) for slope in slopes] == list(range(20))
    assert "runs on the tape: it is made anew again and again" in slopes[-1].explain()


class World:
    def __init__(self, noted):
        self.noted = noted


def of_a_world(x, world):
    t = 0.0
    for v in x:
        t += v
    world.noted.append(f"{t}")
    return t


def of_objects(x):
    t = 0
    for k in range(30):
        t = t * 2 - x[k]
    return t


def a_range(n):
    s = 0
    for k in range(n):
        s += k
    return range(s)


def a_view(x):
    s = 0.0
    for v in x:
        s += v
    x[0] = s
    return x[1:]


@pytest.mark.parametrize(
    ("f", "args", "reason", "below"),
    [
        (of_a_world, (np.ones(30), World([])), "'world' is a World, no number or array of numbers", 4),
        (of_objects, (np.array([1] * 30, object),), "'x' is an array of objects, no number or array", 3),
        (a_range, (30,), "a range that is returned", 4),
        (a_view, (np.ones(30),), "a view that is returned", 5),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_why_there_is_no_native_code_names_the_value_and_the_line(f, args, reason, below):
    pytest.importorskip("llvmlite")
    with settings.override(executor="auto", compile="now"):
        function = ag.function(f)
        function(*args)
        shown = ag.explain(function).traces[0].executor
    assert reason in shown and f"(test_explain.py:{f.__code__.co_firstlineno + below})" in shown


def test_why_a_part_whose_types_are_found_later_is_not_native():
    pytest.importorskip("llvmlite")

    def faded(world, n):
        t = 0.0
        for _ in range(n):
            t = t * 0.5 + world.noted
        return t

    with settings.override(executor="native", compile="now"):
        function = ag.function(faded)
        for _ in range(5):
            function(World(np.array([1], object)), 50)
        shown = str(ag.explain(function))
    assert (
        "has no native code for what came: 'noted' is an array of dtype object, no number or array" in shown
    )


def test_a_part_on_fields_of_known_types_has_native_code():
    pytest.importorskip("llvmlite")

    class Model:
        def __init__(self):
            self.w, self.noted = np.ones(4), {}

        def fit(self, x, n):
            for k in range(n):
                for v in x:
                    self.w = self.w + 0.1 * (v - self.w)
                self.noted[k] = f"{self.w}"
            return self.noted

    with settings.override(executor="native", compile="now"):
        function = ag.function(Model().fit)
        for _ in range(5):
            function(np.ones((5, 4)), 20)
        shown = ag.explain(function).traces[-1].executor
    line = Model.fit.__code__.co_firstlineno + 2
    assert f"; test_explain.py:{line} has native code;" in shown


def test_why_python_does_it_where_there_are_arrays():
    pytest.importorskip("llvmlite")

    def texts(x):
        found = []
        for v in x:
            try:
                found.append(f"{v}")
            except KeyError:
                pass
        return found

    with settings.override(executor="auto", compile="now"):
        function = ag.function(texts)
        assert function(np.arange(30.0)) == texts(np.arange(30.0))
        shown = ag.explain(function).traces[0].executor
    wanted = (
        "as plain Python: it computes with no array as a whole, and is not native: a text that is made here"
    )
    assert shown.startswith(wanted)


def test_a_guard_of_a_module_names_it():
    function = ag.function(lambda s: re.findall("a", s))
    function("banana")
    assert "re.findall" in ag.explain(function).traces[0].guards


def test_what_runs_on_the_tape_says_so():
    def f(x):
        try:
            return x * x
        except ValueError:
            return x

    derivative = ag.grad(f)
    derivative(2.0)
    assert "runs on the tape: a try statement" in str(ag.explain(derivative))


def test_a_lambda_that_is_a_ternary():
    batched = ag.vectorize(lambda x: (x, x) if x > 1 else x)
    with pytest.raises(ValueError, match=r"one element gives \(value, value\), the ones before it value"):
        batched(np.arange(3.0))
    assert "lambda" in str(ag.explain(batched))


CALLEES = """\
    import numpy as np
    import autograph as ag

    @ag.do_not_convert
    def outside(v):
        return v + 1

    def pieces(n):
        for k in range(n):
            yield k

    def helper(x):
        for piece in pieces(2):
            x = x + outside(piece)
        return inner(x)

    def inner(x):
        zero = 0
        if x.sum() > 1e8:
            x = 1 // zero
        return x * 2

    def refuses(x):
        y = x
        return eval("y")

    class Model:
        def step(self, x):
            return helper(x) + 1

    def f(x, model):
        return model.step(x) + inner(x) + refuses(x)

    def after_it(x, model):
        y = refuses(x)
        return model.step(y)
    """


def test_statements_of_functions_that_were_traced_into(tmp_path):
    module = load(tmp_path, CALLEES)
    function = ag.function(module.f)
    function(np.ones(2), module.Model())
    told = ag.explain(function)
    raised = "tracing it raised ZeroDivisionError: integer division or modulo by zero"
    statement = f"the statement runs as plain Python: {raised}, line 20"
    body = "pieces is a generator or coroutine function: its body runs as plain Python"
    wanted = [
        ("helper (sample.py)", 13, "python", f"{body}; calls pieces as plain Python"),
        ("helper (sample.py)", 14, "staged", "calls outside as plain Python"),
        ("inner (sample.py)", 19, "python", statement),
    ]
    (trace,) = told.traces
    assert [(s.function, s.line, s.how, s.reason) for s in trace.inside] == wanted
    assert (
        "  in helper (sample.py):\n"
        f"    13  python      for piece in pieces(2):  # {body}; calls pieces as plain Python\n"
        "    14  staged          x = x + outside(piece)  # calls outside as plain Python\n"
        "  in inner (sample.py):\n"
        f"    19  python      if x.sum() > 1e8:  # {statement}"
    ) in str(told)
    (line,) = trace.statements
    assert (
        line.how == "python"
        and "refuses is called as it is: eval() is not converted (sample.py:25)" in line.reason
    )
    assert "helper leaves sample.py:13 to Python; inner leaves sample.py:19 to Python" in line.reason
    assert {(s.function, s.line) for s in told.left_to_python} == {
        ("", 32),
        ("helper (sample.py)", 13),
        ("inner (sample.py)", 19),
    }


def test_a_line_that_calls_such_a_function_is_staged_all_the_same(tmp_path):
    module = load(tmp_path, CALLEES)
    function = ag.function(module.helper)
    function(np.ones(2))
    (trace,) = ag.explain(function).traces
    last = trace.statements[-1]
    assert (last.how, last.reason) == ("staged", "inner leaves sample.py:19 to Python")


def test_methods_that_are_called_as_they_are(tmp_path):
    """What a method is may have changed since: code that was not seen ran."""
    module = load(tmp_path, CALLEES)
    function = ag.function(module.after_it)
    function(np.ones(2), module.Model())
    (trace,) = ag.explain(function).traces
    assert trace.statements[1].reason == "calls Model.step as plain Python"
