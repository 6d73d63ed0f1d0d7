"""From a function to its source: `source_of` finds the text and the tree of a function.

In: a Python function.  Out: a `Source` with its `gast` tree (decorators gone, private names of classes
written out), its text, its file and first line.
What always holds: positions in the tree are those of the user's file, and the tree compiles to what the
function does.  If the file was edited since it was imported, that is an error, never a wrong tree.
"""

from __future__ import annotations
import __future__

import ast
import collections
import copy
import inspect
import linecache
import types

import gast

from autograph.codes import FunctionNode, code_name, compile_function, first_line, node_of_code, same_code
from autograph.literals import Written
from autograph.trees import children, to_gast, walk
from autograph.unparse import unparse
from runtime.computed import computed
from runtime.dataclass import dataclass
from runtime.errors import ConversionRefused, GeneratorError, SourceNotFound, Span
from runtime.execute.user_lines import no_syntax_warnings
from runtime.syntax import parse

_FILES_KEPT = 32


@dataclass(frozen=True)
class Source:
    """The source of one function.

    definition: the function's `ast` node.
    text: the lines of the definition as they stand in the file, less their common indentation.
    rebound: names that functions around it, or beside it in those, declare `nonlocal`: if they are captured
        here, their value may change while the function runs.
    """

    function: types.FunctionType
    definition: FunctionNode
    text: str
    file: str
    line: int
    rebound: frozenset[str] = frozenset()

    @property
    def span(self) -> Span:
        """Where the function begins."""
        return Span(self.file, self.line, 0, self.function.__name__)

    @computed
    def node(self) -> gast.AST:
        """The definition as a `gast` tree of its own, which passes may change."""
        try:
            tree = to_gast(self.definition)
            if self.function.__code__.co_flags & __future__.annotations.compiler_flag:
                _write_annotations(tree)
            return tree
        except RecursionError:
            raise _too_deep(self.span) from None


@dataclass(frozen=True)
class _File:
    """A parsed file: for (name, first line) the functions there, each with the class that it stands in.

    nonlocals: for the first line of each function, names declared nonlocal in the outermost function there.
    imports: the names that the module itself imports.
    """

    text: str
    imports: frozenset[str]
    functions: dict[tuple[str, int], list[tuple[FunctionNode, str]]]
    nonlocals: dict[int, set[str]]


_files: collections.OrderedDict[str, _File] = collections.OrderedDict()


def source_of(function: object) -> Source:
    """The source of a function; SourceNotFound where there is none, GeneratorError for generators.

    ConversionRefused for one that is nested too deeply even to be looked at."""
    if not isinstance(function, types.FunctionType):
        raise SourceNotFound(
            f"{_described(function)} has no Python source to convert",
            why="it is not a function written in Python with def or lambda",
            fix="wrap it in a def, or call it from the function that you convert; it is then called as it is",
        )
    code = function.__code__
    span = Span(code.co_filename, code.co_firstlineno, 0, function.__name__)
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        kind = "generator" if code.co_flags & inspect.CO_GENERATOR else "coroutine"
        raise GeneratorError(
            f"{function.__qualname__} is a {kind} function, which can't be converted",
            span=span,
            why="its body runs in pieces, between other code",
            fix="return a list, or convert the functions that it calls",
        )
    for attempt in (0, 1):
        if attempt:
            # The text that was read earlier doesn't fit: the module may have been edited and loaded anew.
            linecache.checkcache(code.co_filename)
        try:
            found = _find(function)
        except RecursionError:
            raise _too_deep(span) from None
        if found is not None:
            return _source(function, *found)
    raise _not_found(function, span)


def _write_annotations(tree: gast.AST) -> None:
    """Have annotations stay as they are written: Python keeps their text and evaluates nothing."""
    for node in walk(tree):
        for field in ("annotation", "returns"):
            said = getattr(node, field, None)
            if isinstance(said, gast.AST):
                kept = gast.Constant(value=Written(unparse(said)), kind=None)
                setattr(node, field, gast.copy_location(kept, said))


def _too_deep(span: Span) -> ConversionRefused:
    return ConversionRefused("the function is nested too deeply to be converted", span=span)


def _find(function: types.FunctionType) -> tuple[FunctionNode, list[str], frozenset[str]] | None:
    """The function's node, its file's lines and the names rebound around it.

    None where the node doesn't compile to the function's code."""
    code = function.__code__
    file = _parsed(code.co_filename, function.__globals__)
    if file is None:
        return None
    places = file.functions.get((code.co_name, code.co_firstlineno), [])
    owners = {_bare(node): owner.lstrip("_") for node, owner in places}
    node = node_of_code(code, list(owners), owners)
    if node is None or not _is_source(node, code, file.imports, owners[node]):
        return None
    try:
        node = _mangled(node, owners[node])
    except _NoName as problem:
        span = Span(code.co_filename, problem.line, 0, function.__name__)
        what = f"{problem} has a private name, which is another one outside the class"
        raise ConversionRefused(what, span=span) from None
    rebound = frozenset(file.nonlocals.get(code.co_firstlineno, ())) if code.co_freevars else frozenset()
    # Only this ends a line of Python: a text may hold form feeds and their like.
    return node, [f"{line}\n" for line in file.text.split("\n")], rebound


def _is_source(node: FunctionNode, code: types.CodeType, imports: frozenset[str], owner: str) -> bool:
    fresh = compile_function(node, code.co_freevars, code, code.co_filename, imports, owner=owner)
    if same_code(fresh, code):
        return True
    # pytest rewrites asserts in test files and uses names that no identifier can have.
    rewritten = any(name.startswith("@") for name in (*code.co_names, *code.co_varnames))
    return rewritten and fresh.co_varnames[: fresh.co_argcount] == code.co_varnames[: code.co_argcount]


def _parsed(filename: str, module: dict[str, object]) -> _File | None:
    """The parsed file; parsed once for each text that it had."""
    text = "".join(linecache.getlines(filename, module))
    known = _files.get(filename)
    if known is not None and known.text == text:
        _files.move_to_end(filename)
        return known
    if not text:
        return None
    try:
        with no_syntax_warnings():
            tree = parse(text)
    except (SyntaxError, ValueError):
        return None
    functions: dict[tuple[str, int], list[tuple[FunctionNode, str]]] = {}
    imports: set[str] = set()
    nonlocals: dict[int, set[str]] = {}
    stack: list[tuple[ast.AST, str, bool, set[str]]] = [(tree, "", True, set())]
    while stack:
        node, owner, outside, rebound = stack.pop()
        if isinstance(node, ast.Nonlocal):
            rebound.update(node.names)
        if isinstance(node, (ast.Import, ast.ImportFrom)) and outside:
            imports.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            functions.setdefault((code_name(node), first_line(node)), []).append((node, owner))
            rebound = nonlocals.setdefault(first_line(node), set() if outside else rebound)
            outside = False
        if isinstance(node, ast.ClassDef):
            stack += [(child, node.name, False, rebound) for child in node.body]
            stack += [(child, owner, outside, rebound) for child in children(node) if child not in node.body]
        else:
            stack += [(child, owner, outside, rebound) for child in children(node)]
    file = _files[filename] = _File(text, frozenset(imports), functions, nonlocals)
    while len(_files) > _FILES_KEPT:
        _files.popitem(last=False)
    return file


def _source(
    function: types.FunctionType, node: FunctionNode, lines: list[str], rebound: frozenset[str] = frozenset()
) -> Source:
    code = function.__code__
    start, end = code.co_firstlineno, node.end_lineno or node.lineno
    if isinstance(node, ast.Lambda):
        text = ast.get_source_segment("".join(lines), node) or ""
    else:
        indent = lines[start - 1][: len(lines[start - 1]) - len(lines[start - 1].lstrip())]
        text = "".join(line.removeprefix(indent) for line in lines[start - 1 : end])
    return Source(function, node, text, code.co_filename, code.co_firstlineno, rebound)


def _bare(node: FunctionNode) -> FunctionNode:
    """A copy without what is evaluated outside of the function's code."""
    bare = copy.copy(node)
    if not isinstance(bare, ast.Lambda):
        bare.decorator_list = []
        if hasattr(bare, "type_params"):
            bare.type_params = []  # they are free variables of the function's own code
    return bare


class _NoName(Exception):
    """Something in a class has one name and stands in a variable of another; in a tree it has but one."""

    line = 0


def _mangled(node: FunctionNode, prefix: str) -> FunctionNode:
    """A copy in which private names stand as the class sees them.  prefix: its name without underscores."""
    if not prefix:
        return node
    bare = copy.deepcopy(node)
    stack: list[ast.AST] = children(bare)
    while stack:
        child = stack.pop()
        if isinstance(child, ast.alias):
            _import_as(child, prefix)
            continue
        for field in ("id", "attr", "arg", "name", "rest"):
            private = getattr(child, field, None)
            if isinstance(private, str) and not isinstance(child, ast.keyword):
                setattr(child, field, _private(private, prefix))
                if isinstance(child, _DEFINITIONS) and child.name != private:
                    raise _no_name(private, child.lineno)
        if isinstance(child, (ast.Global, ast.Nonlocal)):
            child.names = [_private(name, prefix) for name in child.names]
        # Inside a class of its own, that class's name counts, and the compiler sees to it.
        if isinstance(child, ast.ClassDef):
            stack += [*child.bases, *child.keywords, *child.decorator_list]
        else:
            stack += children(child)
    return bare


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _import_as(alias: ast.alias, prefix: str) -> None:
    """What is imported keeps its name; the variable that it stands in does not."""
    if alias.asname is not None:
        alias.asname = _private(alias.asname, prefix)
        return
    first, dot, _ = alias.name.partition(".")
    if _private(first, prefix) != first:
        if dot:
            raise _no_name(alias.name, alias.lineno)
        alias.asname = _private(first, prefix)


def _no_name(name: str, line: int) -> _NoName:
    problem = _NoName(name)
    problem.line = line
    return problem


def _private(name: str, prefix: str) -> str:
    if name.startswith("__") and not name.endswith("__"):
        return f"_{prefix}{name}"
    return name


def _described(value: object) -> str:
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    kind = type(value).__name__
    return f"{name} ({kind})" if isinstance(name, str) else f"an object of type {kind}"


def _not_found(function: types.FunctionType, span: Span) -> SourceNotFound:
    what = f"the source of {function.__qualname__} was not found"
    # From 3.13 on the text of `python -c` is kept as that of "<string>", which all that exec makes stands in.
    if span.file != "<string>" and linecache.getlines(span.file, function.__globals__):
        return SourceNotFound(
            what,
            span=span,
            fix="import the module again",
            why=f"the text in {span.file} is not that of the code that runs: the file was changed after"
            " it was imported, or an import hook rewrites it",
        )
    return SourceNotFound(
        what,
        span=span,
        why="it came by exec, python -c, a pipe or a prompt that keeps no text, or its file is gone",
        fix="define the function in a file, or enter its text in linecache.cache under the file name that it"
        " was compiled with",
    )
