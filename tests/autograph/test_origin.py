"""Generated places lead back to the user's, and the register of generated files forgets."""

from __future__ import annotations

import ast
import gc
import linecache
import sys
import traceback
from typing import Any

import gast
import numpy as np
import pytest

import autograph as ag
from autograph.load import bind, load
from autograph.operators import calls
from autograph.origin import is_generated_file, span_of_frame, span_of_traceback, trace_origin
from autograph.source import source_of
from runtime.errors import Span


def sample(x):
    total = (x +
             x.missing)  # fmt: skip
    inner = lambda y: y.absent

    def named(z):
        return inner(z)

    return named(total)


def first_line() -> int:
    return sample.__code__.co_firstlineno


def generated():
    source = source_of(sample)
    return load(source.node, source)


def test_each_generated_line_has_the_users():
    made = generated()
    assert made.source.splitlines()[1] == "    total = x + x.missing"
    lines = {line: (span.line - first_line(), span.function) for line, span in made.origin.lines.items()}
    assert lines == {
        1: (0, "sample"),
        2: (1, "sample"),
        3: (3, "sample"),
        5: (5, "sample"),
        6: (6, "named"),
        8: (8, "sample"),
    }
    assert made.origin.lines[2] == Span(__file__, first_line() + 1, 4, "sample")


def test_an_error_leads_to_the_users_line():
    function = bind(generated(), sample, None, globals(), {}, None, None)
    try:
        function(3)
    except AttributeError as error:
        entries = list(traceback.walk_tb(error.__traceback__))
        assert error.__traceback__ is not None and error.__traceback__.tb_next is not None
        span = span_of_traceback(error.__traceback__.tb_next)
        shown = "".join(traceback.format_exception(error))
    assert span is not None and span.function == "sample" and span.file == __file__
    # Since 3.11 it is known which expression of the line failed.
    assert span.line == first_line() + (2 if sys.version_info >= (3, 11) else 1)
    assert "total = x + x.missing" in shown and len(entries) == 2


def test_the_users_inner_functions_have_their_names():
    class Thing:
        missing = 1

        def __radd__(self, other):
            return self

        __add__ = __radd__

    function = bind(generated(), sample, None, globals(), {}, None, None)
    try:
        function(Thing())
    except AttributeError as error:
        spans = [span_of_traceback(entry) for entry in entries_of(error)]
    assert [(span.function, span.line - first_line()) for span in spans if span] == [
        ("sample", 8),
        ("named", 6),
        ("<lambda>", 3),
    ]


def entries_of(error):
    entry = error.__traceback__
    while entry is not None:
        yield entry
        entry = entry.tb_next


def test_other_frames_have_no_span():
    assert span_of_frame(sys._getframe()) is None
    assert not is_generated_file(__file__)


def test_text_is_shown_while_the_code_lives_and_gone_afterwards():
    made = generated()
    assert is_generated_file(made.filename)
    linecache.checkcache()
    assert "".join(linecache.getlines(made.filename)) == made.source
    filename, function = made.filename, bind(made, sample, None, globals(), {}, None, None)
    del made
    gc.collect()
    assert linecache.getlines(filename)
    del function
    gc.collect()
    assert filename not in linecache.cache


def test_columns_count_characters(tmp_path):
    path = tmp_path / "umlauts.py"
    path.write_text("def f(x):\n    return 'äöü' + x.y\n", encoding="utf-8")
    tree = ast.parse(path.read_text(encoding="utf-8")).body[0]
    assert isinstance(tree, ast.FunctionDef)
    origin = trace_origin(tree, tree, tree, str(path), "f")
    node = tree.body[0].value.right
    place = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
    assert origin.places[place].col == 19


def test_nodes_without_a_place_take_that_around_them():
    located = ast.parse("def f(x):\n    return g(x)\n").body[0]
    made = gast.gast_to_ast(gast.ast_to_gast(located))
    call = made.body[0].value
    for node in ast.walk(call):
        for name in ("lineno", "col_offset"):
            if hasattr(node, name):
                delattr(node, name)
    origin = trace_origin(made, located, located, "<file>", "f")
    assert {span.line for span in origin.places.values() if span.col == 4} == {2}


def memoised(n, known):
    if n in known:
        return known[n]
    if n < 2:
        return n
    known[n] = memoised(n - 1, known) + memoised(n - 2, known)
    return known[n]


def steps(x, known):
    total = 0.0
    for k in range(30):
        if x[k] > k:
            total += [v * k for v in x][k]
        else:
            total -= memoised(4, {})
    return total, memoised(12, known)


def test_places_that_are_kept_are_those_that_a_walk_through_the_stack_finds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each node asked all frames: a recursion fifty deep took two seconds to trace, most of it for places."""
    found = []
    kept = calls.Stack.span

    def both(self: calls.Stack, frame: Any) -> Any:
        anew, place = kept(calls.Stack(), frame), kept(self, frame)
        assert place == anew
        found.append(place)
        return place

    monkeypatch.setattr(calls.Stack, "span", both)
    function = ag.function(steps)
    assert function(np.arange(30.0), {}) == steps(np.arange(30.0), {})
    assert len(found) > 100 and len(set(found)) > 20
