"""Sort the module list of ARCHITECTURE.md: `python -m tests.architecture`.

In: the list with its reasons, and the imports of the tree.  Out: the same list, modules that are gone left
out, new ones put in with the first line of their docstring (mend it to a reason), in an order in which
every import points upwards, section by section.  The text under a section's title stays.
"""

from __future__ import annotations

import ast
import re
import sys

from tests.test_layers import MODULES, ROOT, imports, is_inner_package

NATIVE = r"runtime\.execute\.native\."
# Title, and which modules; where several patterns fit a module, the longest one counts.
SECTIONS = (
    ("runtime: vocabulary", r"runtime\.\w+$"),
    ("runtime: intermediate representation", r"runtime\.ir\."),
    ("runtime: the op table", r"runtime\.ops\."),
    ("runtime: graph in, graph out", r"runtime\.passes\."),
    ("runtime: tracing", r"runtime\.trace\."),
    ("runtime: control flow and data", r"runtime\.(functional|retyping|scans|data|scopes)$"),
    ("runtime: plans and their executors", r"runtime\.execute\.(?!native)"),
    ("runtime: derivatives, on the tape", r"runtime\.autodiff\.(\w+|staged\.kinds)$"),
    (
        "runtime: derivatives, as graphs",
        r"runtime\.(autodiff\.(staged\.(?!kinds|callables)|custom$)|pushing$)",
    ),
    ("runtime: many items at once", r"runtime\.(tensor_array|vectorizing|batching)$"),
    (
        "native code: text and machine code",
        NATIVE + r"(host|abi|kinds|gang|lanes|ranges|comparisons|choices|emit|object_cache|link|llvm_load)$",
    ),
    ("native code: dispatching calls", NATIVE + r"(check_ir|dispatch_ir|dispatcher)$"),
    (
        "native code: numbers",
        NATIVE
        + r"(values|two_kinds|state|kernel|integers|floats|complexes|narrowing|merge|scalars|vector_\w+|"
        + r"ufunc_loops)$",
    ),
    ("native code: threads", NATIVE + r"(pool_ir|pool|shares|pauses)$"),
    ("native code: arrays and lists", NATIVE + r"\w+$"),
    (
        "native code: whole graphs",
        NATIVE
        + r"(masked|independent|signature|lower|entry|split|segments|tails|executor|partly|plain_nodes|"
        + r"handlers|dict_calls)$",
    ),
    ("runtime: functions", r"runtime\.(function\.|autodiff\.staged\.callables)"),
    ("runtime: views", r"runtime\.view\."),
    ("runtime: the public face", r"runtime(\.api)?$"),
    (
        "autograph: trees and text",
        r"autograph\.(trees|names|literals|unparse\w*|template|source|origin|codes)$",
    ),
    ("autograph: analyses", r"autograph\.analysis\."),
    ("autograph: passes", r"autograph\.passes\."),
    ("autograph: the driver", r"autograph\.(load|convert)$"),
    ("autograph: what generated code calls", r"autograph\.operators\."),
    ("autograph: the public face", r"autograph(\.\w+)?$"),
    ("autograph: programs that use it", r"autograph\.(demo|cli\w*|__main__)$"),
)
TITLES = [title for title, _ in SECTIONS]


def section(name: str) -> int:
    """Where the module belongs; the position in the list of sections."""
    fitting = [k for k, (_, pattern) in enumerate(SECTIONS) if re.match(pattern, name)]
    return max(fitting, key=lambda k: len(SECTIONS[k][1]))


def ordered() -> list[str]:
    """All modules, each after what it imports."""
    left = {
        name: {target for target, _ in imports(name) if target != name and target in MODULES}
        for name in MODULES
        if not is_inner_package(name)
    }
    done: list[str] = []
    while left:
        ready = [name for name, needs in left.items() if needs <= set(done)]
        if not ready:
            sys.exit(f"these import each other: {sorted(left)}")
        chosen = min(ready, key=lambda name: (section(name), len(left[name]), name))
        done.append(chosen)
        del left[chosen]
    return done


def main() -> None:
    path = ROOT / "ARCHITECTURE.md"
    text = path.read_text()
    reasons = dict(re.findall(r"^- `((?:runtime|autograph)[\w.]*)`: (.*)$", text, re.MULTILINE))
    intros = dict(re.findall(r"^### (.*)\n\n((?!- ).*?)\n\n- ", text, re.MULTILINE | re.DOTALL))
    lines, last = [text[: text.index("\n### ")].rstrip()], -1
    for name in ordered():
        place = section(name)
        if place < last:
            sys.exit(f"{name} imports what stands below its section, {TITLES[place]!r}: see SECTIONS")
        if place > last:
            title = TITLES[place]
            lines.append(f"\n### {title}\n" + (f"\n{intros[title]}\n" if title in intros else ""))
            last = place
        doc = ast.get_docstring(ast.parse(MODULES[name].read_text())) or ""
        lines.append(f"- `{name}`: {reasons.get(name) or doc.splitlines()[0].rstrip('.')}")
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
