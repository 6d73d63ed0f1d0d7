"""ARCHITECTURE.md's module list is the law: imports, those inside functions too, only point upwards in it."""

from __future__ import annotations

import ast
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = ("runtime", "autograph")


def listed() -> list[str]:
    """The modules of ARCHITECTURE.md in order: list items that start with a module name in backticks."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    return re.findall(r"^- `((?:runtime|autograph)(?:\.\w+)*)`", text, re.MULTILINE)


def modules() -> dict[str, pathlib.Path]:
    """Every module of the two packages by dotted name; a package goes by its own name."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def is_inner_package(name: str) -> bool:
    return MODULES[name].name == "__init__.py" and "." in name


def imports(name: str) -> set[tuple[str, int]]:
    """(module, line) of each of our modules that `name` imports anywhere in its text."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno} relative import; write the whole name"
            base = node.module or ""
            targets = [f"{base}.{a.name}" if f"{base}.{a.name}" in MODULES else base for a in node.names]
        else:
            continue
        found |= {(target, node.lineno) for target in targets if target.split(".")[0] in PACKAGES}
    return found


def test_every_module_is_listed_once() -> None:
    order = listed()
    assert len(order) == len(set(order)), "a module stands in the list twice"
    wanted = {name for name in MODULES if not is_inner_package(name)}
    missing, gone = wanted - set(order), set(order) - wanted
    assert not missing, f"not in ARCHITECTURE.md: {sorted(missing)}"
    assert not gone, f"in ARCHITECTURE.md but not in the tree: {sorted(gone)}"


def test_every_section_stands_once() -> None:
    titles = re.findall(r"^### (.*)$", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE)
    assert len(titles) == len(set(titles)), "modules keep together: python -m tests.architecture"


def test_the_guide_names_what_is_there() -> None:
    guide = (ROOT / "ARCHITECTURE.md").read_text().partition("## Where everything lives")[2]
    rows = re.findall(r"^\|[^|]*\|([^|]*)\|([^|]*)\|$", guide.partition("\n## ")[0], re.MULTILINE)[2:]
    assert rows
    for places, modules in rows:
        folders = [ROOT, ROOT / "autograph", *(ROOT / name for name in re.findall(r"`(.*?)`", places))]
        for name in re.findall(r"`(.*?)`", places + modules):
            found = [
                folder / end
                for folder in (*folders, *(f.parent for f in folders))
                for end in (name, f"{name}.py")
            ]
            assert any(path.exists() for path in found), name


@pytest.mark.parametrize("name", [n for n in MODULES if not is_inner_package(n)])
def test_imports_point_upwards(name: str) -> None:
    place = {module: k for k, module in enumerate(listed())}
    wrong = [
        f"{name}:{line} imports {target}"
        for target, line in sorted(imports(name))
        if target != name and place.get(target, len(place)) >= place[name]
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", list(MODULES))
def test_own_imports_stand_at_the_top(name: str) -> None:
    tree = ast.parse(MODULES[name].read_text())
    inner = [
        f"{name}:{node.lineno} in {function.name}"
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        and ("autograph" in ast.unparse(node) or "runtime" in ast.unparse(node))
    ]
    assert not inner, "\n".join(inner)


@pytest.mark.parametrize("name", [n for n in MODULES if is_inner_package(n)])
def test_inner_packages_are_one_docstring(name: str) -> None:
    body = ast.parse(MODULES[name].read_text()).body
    assert len(body) == 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)


@pytest.mark.parametrize("name", list(MODULES))
def test_modules_say_what_they_are(name: str) -> None:
    assert ast.get_docstring(ast.parse(MODULES[name].read_text()))


def test_runtime_does_not_know_autograph() -> None:
    wrong = [
        f"{name}:{line} imports {target}"
        for name in MODULES
        if name.split(".")[0] == "runtime"
        for target, line in imports(name)
        if target.split(".")[0] == "autograph"
    ]
    assert not wrong, "\n".join(wrong)


def test_only_the_cupy_executor_imports_cupy() -> None:
    users = []
    texts = {name: path.read_text() for name, path in MODULES.items()}
    for name, text in texts.items():
        for node in ast.walk(ast.parse(text)) if "cupy" in text else ():
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            if any(n.split(".")[0] in ("cupy", "cupyx") for n in names):
                users.append(name)
    assert set(users) <= {"runtime.execute.cupy_executor"}
