"""The command line: look at what is generated, run it, write it out.

In: arguments as in `autograph --help`.  Out: text on standard output and an exit status: 0 done, 1 the
function itself raised or a result differs, 2 the command can't be done; then standard error says why, and
shows the line of the user's that is in the way.
It uses public names only, so whatever it shows a program can have too.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import os
import pathlib
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import autograph as ag
from autograph import cli_show, demo
from autograph.cli_check import check_file
from autograph.cli_target import CliError, arguments, one_line, python_function, target
from runtime.execute.export import export
from runtime.execute.traceback import cleaned
from runtime.ir.text import print_graph
from runtime.view.dot import graph_to_dot
from runtime.view.svg import graph_to_svg

# What is in the way of a command, by an error that shows the line; others are the function's own.
REFUSALS = (
    ag.SourceNotFound,
    ag.ConversionRefused,
    ag.Untraceable,
    ag.SignatureError,
    ag.ExportError,
    ag.CheckError,
)
TARGET_HELP = "FILE.py:function or module:function; a method is Class.method"
ARGS_HELP = "Python literals (text in quotes), np.array(...), np.int64(27), .npy files, name=value"
EPILOG = """\
start here:
  autograph demo                                         functions of installed packages, end to end
  autograph show examples/collatz.py:collatz             the source beside what is generated from it
  autograph graph examples/collatz.py:collatz "np.int64(27)"      the graph that is traced
  autograph plan examples/collatz.py:collatz "np.int64(27)"       the function that runs
  autograph run colorsys:rgb_to_hls 0.2 0.4 0.4          run it; also with .npy files
  autograph check FILE.py                                which functions are converted, and why not
  autograph COMMAND --help                               more on each, with examples

exit status: 0 done; 1 it raised, a result differs, or a strict check failed; 2 the command can't be done
"""
EXAMPLES = {
    "show": """\
examples:
  autograph show examples/newton.py:newton
  autograph show colorsys:yiq_to_rgb | less       piped: plain text, one after the other
  autograph show statistics:NormalDist.pdf     a method
""",
    "graph": """\
A graph is traced for example arguments: their types count, and the values of plain Python ones.

examples:
  autograph graph examples/collatz.py:collatz "np.int64(27)"
  autograph graph colorsys:hsv_to_rgb "np.float64(0.1)" 0.5 0.9 --format dot | dot -Tpng > hsv.png
  autograph graph examples/rnn.py:cell x.npy state.npy w.npy u.npy bias.npy --format svg -o cell.svg
""",
    "plan": """\
The plan is the Python function that a graph is compiled to: what runs when the function is called.

examples:
  autograph plan examples/collatz.py:collatz "np.int64(27)"
  autograph plan numpy.polynomial.polynomial:polyval "np.array([0.5, 2.0])" "np.array([1.0, 2.0, 3.0])"
""",
    "run": """\
Prints the repr of the result. Values: 3, -0.5, "'text'", "[1, 2]", "np.array([1.0, 2.0])", data.npy.

examples:
  autograph run examples/collatz.py:collatz "np.int64(27)"
  autograph run numpy.polynomial.chebyshev:chebval x.npy "[1.0, 0.5, 0.25]"
  autograph run statistics:median "[3, 1, 2]" --check      beside plain Python; status 1 if they differ
  autograph run FILE.py:f -- -1e3                          after --, a minus sign starts no option
""",
    "export": """\
Writes the plan as a file that needs NumPy only: no autograph at run time.

examples:
  autograph export examples/collatz.py:collatz "np.int64(27)" -o collatz_plan.py
""",
    "explain": """\
Says of each statement whether it is staged (in the graph), static (done while tracing,
or never reached) or Python, and why. Without values nothing is traced: staged then means converted.

examples:
  autograph explain examples/kmeans.py:kmeans points.npy centres.npy 10
  autograph explain colorsys:rgb_to_hls        without values: what conversion alone says
""",
    "check": """\
The file is imported, its functions are converted, and none is called. With --strict the exit status is 1 if
a function can't be converted. Nothing is traced: with --all, staged means converted.

examples:
  autograph check examples/kmeans.py
  autograph check FILE.py --all       every statement, not only those that are in the way
""",
    "demo": """\
examples:
  autograph demo             sources in short, and a table of results beside plain Python's
  autograph demo --full      whole sources, graphs and plans
""",
}


class Parser(argparse.ArgumentParser):
    """A parser that says what to do with values that look like options."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the command, and end."""
        if message.startswith("unrecognized arguments: -"):
            message += " (put -- before a value that begins with a minus sign)"
        super().error(message)


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    top = Parser(
        prog="autograph",
        description="Turn plain Python + NumPy functions into graphs: view, run and export them",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"autograph {ag.__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def add(name: str, run: Callable[[argparse.Namespace], int], sentence: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(
            name,
            help=sentence,
            description=sentence[0].upper() + sentence[1:] + ".",
            epilog=EXAMPLES[name],
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.set_defaults(run=run)
        return sub

    show = add("show", show_command, "show a function's source beside the source generated from it")
    show.add_argument("target", metavar="TARGET", help=TARGET_HELP)
    show.add_argument("--stacked", action="store_true", help="one above the other, whatever the width")
    for name, run, sentence in (
        ("graph", graph_command, "show the graph traced for example arguments"),
        ("plan", plan_command, "show the Python function that a graph is compiled to"),
        ("run", run_command, "convert a function and call it"),
        ("export", export_command, "write a plan to a file that needs NumPy only"),
        ("explain", explain_command, "say what was traced and what was left to Python, and why"),
    ):
        sub = add(name, run, sentence)
        sub.add_argument("target", metavar="TARGET", help=TARGET_HELP)
        sub.add_argument("args", metavar="ARGS", nargs="*", help=ARGS_HELP)
        if name == "graph":
            sub.add_argument("--format", choices=("text", "dot", "svg"), default="text", help="default: text")
        if name in ("graph", "export"):
            sub.add_argument(
                "-o", dest="output", metavar="FILE", help="write to FILE; default: standard output"
            )
        if name == "run":
            sub.add_argument("--check", action="store_true", help="compare the call with plain Python")
    checked = add("check", check_command, "say which functions of a file conversion handles, and why not")
    checked.add_argument("target", metavar="FILE", help="a Python file")
    checked.add_argument("--strict", action="store_true", help="exit status 1 if one is left to Python")
    checked.add_argument("--all", action="store_true", help="show every statement")
    shown = add("demo", demo_command, "convert, view and run functions of installed packages")
    shown.add_argument("--full", action="store_true", help="whole sources, graphs and plans")
    return top


def function_of(found: Any, text: str) -> Any:
    """What was named as an `ag.function` object; one that is decorated already is taken as it is."""
    python_function(found, text)
    return found if hasattr(found, "get_concrete_function") else ag.function(found)


def concrete(opts: argparse.Namespace) -> Any:
    """The concrete function for the target and the example arguments."""
    function, positional, keywords = call_of(opts)
    return function.get_concrete_function(*positional, **keywords)


def call_of(opts: argparse.Namespace) -> tuple[Any, list[Any], dict[str, Any]]:
    """Function and arguments; arguments that don't fit the parameters are refused."""
    found = target(opts.target)
    function = function_of(found, opts.target)
    positional, keywords = arguments(opts.args)
    if function is found and not opts.args and opts.command != "run":
        return function, [], {}  # it may have an input_signature, which says what to trace for
    signature = inspect.signature(found)
    try:
        signature.bind(*positional, **keywords)
    except TypeError as error:
        raise CliError(f"{opts.target}{signature} can't be called so: {one_line(error)}") from error
    return function, positional, keywords


def write(text: str, output: str | None) -> None:
    """To the file, or to standard output."""
    text = text if output is not None or text.endswith("\n") else text + "\n"
    try:
        if output is not None:
            pathlib.Path(output).write_text(text, encoding="utf-8")
        elif sys.stdout is not None:  # as where a shell closed it: nobody wants to see it
            sys.stdout.write(text)
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        place = "standard output" if output is None else output or "a file without name"
        raise CliError(f"{place} can't be written: {error.strerror}") from error


def show_command(opts: argparse.Namespace) -> int:
    """`autograph show`."""
    plain = python_function(target(opts.target), opts.target)
    original = inspect.cleandoc("\n" + inspect.getsource(plain)) + "\n"
    colour, width = cli_show.terminal()
    titles = f"{plain.__qualname__}, {place(plain)}", "generated"
    write(
        cli_show.beside(
            original, ag.to_code(plain), titles, colour=colour, width=0 if opts.stacked else width
        ),
        None,
    )
    return 0


def place(plain: Any) -> str:
    """File and line of a function; the file from here where it lies below here."""
    path = pathlib.Path(plain.__code__.co_filename)
    if path.is_relative_to(pathlib.Path.cwd()):
        path = path.relative_to(pathlib.Path.cwd())
    return f"{path}:{plain.__code__.co_firstlineno}"


def graph_command(opts: argparse.Namespace) -> int:
    """`autograph graph`."""
    printers: dict[str, Callable[[Any], str]] = {
        "text": print_graph,
        "dot": graph_to_dot,
        "svg": graph_to_svg,
    }
    printer = printers[opts.format]
    write(printer(concrete(opts).graph), opts.output)
    return 0


def plan_command(opts: argparse.Namespace) -> int:
    """`autograph plan`."""
    text = str(concrete(opts).plan_source)
    write(cli_show.highlighted(text, cli_show.terminal()[0]), None)
    return 0


def run_command(opts: argparse.Namespace) -> int:
    """`autograph run`."""
    function, positional, keywords = call_of(opts)
    if opts.check:
        function = ag.function(function.python_function, check=True)
    write(repr(function(*positional, **keywords)), None)
    return 0


def export_command(opts: argparse.Namespace) -> int:
    """`autograph export`."""
    found = concrete(opts)
    write(export(found.graph, signature=str(found).splitlines()[0]), opts.output)
    return 0


def explain_command(opts: argparse.Namespace) -> int:
    """`autograph explain`."""
    found = target(opts.target)
    plain = python_function(found, opts.target)
    if not opts.args and inspect.signature(plain).parameters:  # nothing to trace for: conversion alone
        write(str(ag.explain(found)), None)
        return 0
    function, positional, keywords = call_of(opts)
    with contextlib.suppress(ag.Untraceable):  # then the explanation says why
        function.get_concrete_function(*positional, **keywords)
    write(str(ag.explain(function)), None)
    return 0


def check_command(opts: argparse.Namespace) -> int:
    """`autograph check`."""
    text, refused = check_file(opts.target, every=opts.all)
    write(text, None)
    return 1 if refused and opts.strict else 0


def demo_command(opts: argparse.Namespace) -> int:
    """`autograph demo`."""
    return demo.main(full=opts.full)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    opts = parser().parse_args(argv)
    try:
        status: int = opts.run(opts)
        return status
    except CliError as error:
        print(f"autograph: {error}", file=sys.stderr)
        return 2
    except REFUSALS as error:
        print(f"autograph: {error}", file=sys.stderr)
        return 1 if isinstance(error, ag.CheckError) else 2
    except KeyboardInterrupt:
        print("autograph: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of a pipe (less, head) left: nothing is wrong
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # the user's function raised: its own traceback says it best
        traceback.print_exception(error.with_traceback(cleaned(error) or error.__traceback__))
        return 1
