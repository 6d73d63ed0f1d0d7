"""Code objects and the tree nodes they came from.

In: a `def` or `lambda` as an `ast` tree, a code object.  Out: the code that the node compiles to, whether
two code objects do the same, and which of several nodes a code object was made from.
Nothing is ever executed here: code is compiled inside a factory and picked out of the factory's constants.
"""

from __future__ import annotations
import __future__

import ast
import copy
import sys
import types
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Union

from autograph.trees import walk as tree_walk
from runtime.errors import GraphError
from runtime.execute.user_lines import no_syntax_warnings

FunctionNode = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda]

# No identifier of a user looks like this, so names that start with it can be told and taken away.
_FACTORY, _FUNCTION = "<autograph>", "<function>"
_OPTIMIZED = 0x01  # the flag of functions, which classes don't have
_NESTED = 0x10  # the flag of an old future import means "nested function" in code objects
_FUTURES = 0
for _feature in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _feature).compiler_flag
_FUTURES &= ~_NESTED
# *args, **kwargs, generator, coroutine, async generator
_SHAPE = 0x04 | 0x08 | 0x20 | 0x80 | 0x200
_POSITIONS = tuple(sys.version_info) >= (3, 11)


def compile_function(
    node: FunctionNode,
    free: Sequence[str],
    like: types.CodeType,
    filename: str,
    imports: Iterable[str] = (),
    qualname: str = "",
    owner: str = "",
) -> types.CodeType:
    """The code of a `def` or `lambda` whose free variables are `free`.

    like: the code it stands for; gives the name and which `from __future__` imports held.
    imports: names that the module imports; since 3.11 calls of their attributes compile differently.
    qualname: its qualified name, where code objects don't have it (before 3.11).
    owner: the class in whose body it stands, by which private names are known.
    """
    bare = _without_surroundings(node)
    body: list[ast.stmt] = [ast.Expr(bare)] if isinstance(bare, ast.Lambda) else [bare]
    if owner:
        # The name of this class is none that code in it could use.
        around = ast.parse("class C: pass").body[0]
        assert isinstance(around, ast.ClassDef)
        around.name, around.body, body = f"__{owner}", body, [around]
    factory = ast.parse("def factory(): pass").body[0]
    assert isinstance(factory, ast.FunctionDef)
    factory.name, factory.body = _FACTORY, body
    factory.args.args = [ast.arg(name) for name in free]
    before: list[ast.stmt] = [ast.Import([ast.alias(name)]) for name in imports]
    # Only these few nodes lack places, not what stands inside the function.
    inside, bare.body = bare.body, []
    module = ast.fix_missing_locations(ast.Module([*before, factory], type_ignores=[]))
    bare.body = inside
    with no_syntax_warnings():
        made = compile(module, filename, "exec", flags=like.co_flags & _FUTURES, dont_inherit=True)
    inner = [code for outer in nested(made) for code in nested(outer)]
    if owner:
        inner = [code for outer in inner for code in nested(outer)]
    if len(inner) != 1:
        raise GraphError(f"a function compiled to {len(inner)} code objects instead of one")
    new = getattr(like, "co_qualname", qualname or like.co_name)
    outside = f"{_FACTORY}.<locals>.__{owner}." if owner else f"{_FACTORY}.<locals>."
    return _renamed(inner[0], outside + inner[0].co_name, new, like.co_name)


def _without_surroundings(node: FunctionNode) -> FunctionNode:
    """The node without what is evaluated outside of its code: decorators, defaults, annotations."""
    bare = copy.copy(node)
    old = node.args
    nothing = ast.Constant(None)
    bare.args = ast.arguments(
        posonlyargs=[ast.arg(arg.arg) for arg in old.posonlyargs],
        args=[ast.arg(arg.arg) for arg in old.args],
        vararg=old.vararg and ast.arg(old.vararg.arg),
        kwonlyargs=[ast.arg(arg.arg) for arg in old.kwonlyargs],
        kw_defaults=[default and nothing for default in old.kw_defaults],
        kwarg=old.kwarg and ast.arg(old.kwarg.arg),
        defaults=[nothing for _ in old.defaults],
    )
    if not isinstance(bare, ast.Lambda):
        # Under its own name it would hide the global (or free) name of that kind from its body.
        bare.name = _FUNCTION
        bare.decorator_list, bare.returns = [], None
        if hasattr(bare, "type_params"):
            bare.type_params = []
    return bare


def _renamed(code: types.CodeType, old: str, new: str, name: str | None = None) -> types.CodeType:
    """The code with `old` replaced by `new` at the start of its qualified name and of those within it."""

    def constant(const: object) -> object:
        if isinstance(const, types.CodeType):
            return _renamed(const, old, new)
        # Before 3.11 qualified names are constants of the enclosing code.
        if isinstance(const, str) and const.startswith(old + ".<locals>."):
            return new + const[len(old) :]
        return const

    consts = tuple(constant(const) for const in code.co_consts)
    changed = code.replace(co_consts=consts, co_name=name or code.co_name)
    if sys.version_info >= (3, 11) and code.co_qualname.startswith(old):
        changed = changed.replace(co_qualname=new + code.co_qualname[len(old) :])
    return changed


def named_as_written(
    code: types.CodeType, helpers: Container[types.CodeType], qualname: str
) -> dict[types.CodeType, types.CodeType]:
    """What `code` becomes when functions and classes in helpers are named as if they stood outside of them.

    Gives the new code objects by the old ones.
    """
    table: dict[types.CodeType, types.CodeType] = {}

    def rename(code: types.CodeType, old: str, new: str, around: tuple[str, str]) -> types.CodeType:
        # old, new: how the names of what stands directly in here begin now, and how they shall.
        def constant(const: object) -> object:
            if isinstance(const, types.CodeType):
                if const in helpers:
                    return rename(const, f"{old}{const.co_name}.<locals>.", new, (old, new))
                dot = ".<locals>." if const.co_flags & _OPTIMIZED else "."
                return rename(const, old + const.co_name + dot, new + const.co_name + dot, (old, new))
            # A class has its own name among its constants, functions before 3.11 those of what they define.
            for was, shall in ((old, new), around):
                if isinstance(const, str) and const.startswith(was):
                    return shall + const[len(was) :]
            return const

        changed = code.replace(co_consts=tuple(map(constant, code.co_consts)))
        if sys.version_info >= (3, 11) and code.co_qualname.startswith(around[0]) and code not in helpers:
            changed = changed.replace(co_qualname=around[1] + code.co_qualname[len(around[0]) :])
        table[code] = changed
        return changed

    start = f"{qualname}.<locals>."
    rename(code, start, start, (start, start))
    return table


def nested(code: types.CodeType) -> list[types.CodeType]:
    """The code objects made directly within this one, in order."""
    return [const for const in code.co_consts if isinstance(const, types.CodeType)]


def walk(code: types.CodeType) -> Iterator[types.CodeType]:
    """This code object and all those within it."""
    yield code
    for inner in nested(code):
        yield from walk(inner)


def same_code(left: types.CodeType, right: types.CodeType) -> bool:
    """Whether two code objects do the same, wherever their text stands."""

    def shape(code: types.CodeType) -> tuple[object, ...]:
        return (
            code.co_code,
            code.co_names,
            code.co_varnames,
            code.co_freevars,
            code.co_cellvars,
            code.co_argcount,
            code.co_posonlyargcount,
            code.co_kwonlyargcount,
            code.co_flags & _SHAPE,
        )

    return (
        shape(left) == shape(right)
        and len(left.co_consts) == len(right.co_consts)
        and all(_same_constant(*pair) for pair in zip(left.co_consts, right.co_consts, strict=True))
    )


def _same_constant(left: object, right: object) -> bool:
    if isinstance(left, types.CodeType) and isinstance(right, types.CodeType):
        # The constants of a class body hold line numbers and tuples in no fixed order.
        optimized = left.co_flags & _OPTIMIZED
        return same_code(left, right) if optimized else left.co_code == right.co_code
    if type(left) is not type(right):
        return False
    if isinstance(left, str) and isinstance(right, str):
        # Qualified names of nested functions: a const before 3.11, and they depend on the surroundings.
        return left == right or (".<locals>." in left and left.split(".")[-1] == right.split(".")[-1])
    if isinstance(left, (frozenset, int)):
        return left == right
    return repr(left) == repr(right)


def node_of_code(
    code: types.CodeType, nodes: Sequence[FunctionNode], owners: Mapping[FunctionNode, str] | None = None
) -> FunctionNode | None:
    """The node that `code` was compiled from, among those with its name and first line.

    owners: the classes in whose bodies they stand.
    """
    if len(nodes) < 2:
        return nodes[0] if nodes else None
    if _POSITIONS and (found := _by_position(code, nodes)) is not None:
        return found
    for node in nodes:
        owner = (owners or {}).get(node, "")
        if same_code(compile_function(node, code.co_freevars, code, "<candidate>", owner=owner), code):
            return node
    return None


def _by_position(code: types.CodeType, nodes: Sequence[FunctionNode]) -> FunctionNode | None:
    """The smallest node whose body holds the most instructions."""
    places = [place for place in getattr(code, "co_positions")() if None not in place]  # noqa: B009  new in 3.11

    def inside(node: FunctionNode) -> tuple[int, int]:
        body = node.body if isinstance(node.body, list) else [node.body]
        start = (body[0].lineno, body[0].col_offset)
        end = (body[-1].end_lineno or 0, body[-1].end_col_offset or 0)
        count = sum(
            start <= (line, col) and (end_line, end_col) <= end for line, end_line, col, end_col in places
        )
        return count, -((end[0] - start[0]) * 10_000 + end[1] - start[1])

    best = max(nodes, key=inside)
    return best if inside(best)[0] else None


def first_line(node: FunctionNode) -> int:
    """The line that `co_firstlineno` has: that of the first decorator where there is one."""
    decorators = () if isinstance(node, ast.Lambda) else node.decorator_list
    return decorators[0].lineno if decorators else node.lineno


def code_name(node: FunctionNode) -> str:
    """The name that `co_name` has."""
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


def nodes_of_codes(root: types.CodeType, tree: FunctionNode) -> list[tuple[types.CodeType, FunctionNode]]:
    """Each code object within `root` with its node within `tree`, where that can be told."""
    table: dict[tuple[str, int], list[FunctionNode]] = {}
    for node in tree_walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and node is not tree:
            table.setdefault((code_name(node), first_line(node)), []).append(node)
    found: list[tuple[types.CodeType, FunctionNode]] = []
    for outer in nested(root):
        for code in walk(outer):
            place = node_of_code(code, table.get((code.co_name, code.co_firstlineno), []))
            if place is not None:
                found.append((code, place))
    return found
