"""Sort the module list of ARCHITECTURE.md: `python -m tests.architecture`.

In: the list with its reasons, and the imports of the tree.  Out: the same list, modules that are gone left
out, new ones put in with the first line of their docstring (mend it to a reason), in an order in which
every import points upwards.  Modules keep together by package where the imports allow it.
"""

from __future__ import annotations

import ast
import re
import sys

from tests.test_layers import MODULES, ROOT, imports, is_inner_package

SECTIONS = (
    ("runtime: vocabulary", r"runtime\.\w+$"),
    ("runtime: intermediate representation", r"runtime\.ir\."),
    ("runtime: the op table", r"runtime\.ops\."),
    ("runtime: graph in, graph out", r"runtime\.(passes|autodiff)\."),
    ("runtime: tracing", r"runtime\.trace\."),
    ("runtime: plans and executors", r"runtime\.execute\.(?!native)"),
    ("runtime: native code", r"runtime\.execute\.native\."),
    ("runtime: functions", r"runtime\.function\."),
    ("runtime: views", r"runtime\.view\."),
    ("runtime: the public face", r"runtime(\.api)?$"),
    ("autograph: trees and text", r"autograph\.(names|literals|unparse\w*|template|source|origin|codes)$"),
    ("autograph: analyses", r"autograph\.analysis\."),
    ("autograph: passes", r"autograph\.passes\."),
    ("autograph: the driver", r"autograph\.(load|convert)$"),
    ("autograph: what generated code calls", r"autograph\.operators\."),
    ("autograph: programs that use it", r"autograph\.(demo|cli\w*|__main__)$"),
    ("autograph: the public face", r"autograph(\.\w+)?$"),
)
EARLIER = {"runtime.functional": "runtime: tracing", "runtime.api": "runtime: the public face"}
TITLES = [title for title, _ in SECTIONS]


def section(name: str) -> int:
    """Where the module belongs; the position in the list of sections, programs last."""
    if name in EARLIER:
        return TITLES.index(EARLIER[name])
    place = next(k for k, (_, pattern) in enumerate(SECTIONS) if re.match(pattern, name))
    return place if "programs" not in TITLES[place] else len(SECTIONS)


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
    lines, last = [text[: text.index("\n### ")].rstrip()], -1
    for name in ordered():
        place = section(name)
        if place != last:
            title = TITLES[place] if place < len(TITLES) else "autograph: programs that use it"
            again = any(line == f"\n### {title}\n" for line in lines)
            lines.append(f"\n### {title}{', continued' if again else ''}\n")
            last = place
        doc = ast.get_docstring(ast.parse(MODULES[name].read_text())) or ""
        lines.append(f"- `{name}`: {reasons.get(name) or doc.splitlines()[0].rstrip('.')}")
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
