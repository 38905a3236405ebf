"""The folder tree is the architecture: imports point downward, and each layer knows its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "memcli"
LAYERS = (
    ("errors", "interrupts", "locations", "sqlite_files"),
    ("configuration",),
    ("memory",),
    ("index",),
    ("models",),
    ("retrieval",),
    ("history",),
    ("evaluation",),
    ("facade",),
    ("cli", "__main__"),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
MODULES = sorted(PACKAGE.rglob("*.py"))


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path, *, runtime_only: bool = False) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            typing_only.update(child for child in ast.walk(node))
    for node in ast.walk(tree):
        if runtime_only and node in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            yield node.module


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downward_only(path: Path) -> None:
    if path == PACKAGE / "__init__.py":
        return
    own = RANK[layer_of(path)]
    for module in imports(path):
        parts = module.split(".")
        if parts[0] == "memcli" and len(parts) > 1:
            assert RANK[parts[1]] <= own, f"{path.name} imports {module} from above"


def test_nothing_below_the_command_line_knows_terminals() -> None:
    for path in MODULES:
        if layer_of(path) not in ("cli", "__main__"):
            for module in imports(path):
                assert module.split(".")[0] not in ("typer", "rich", "click"), path


def test_the_command_line_knows_neither_sql_nor_llama_cpp() -> None:
    for path in MODULES:
        if layer_of(path) == "cli":
            for module in imports(path):
                assert module.split(".")[0] not in ("sqlite3", "sqlite_utils", "llama_cpp"), path


def test_every_module_says_in_its_first_line_why_it_exists_and_stays_short() -> None:
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        docstring = ast.get_docstring(ast.parse(text))
        assert docstring, path
        assert docstring.splitlines()[0].endswith((".", ":")) or "\n" in docstring, path
        assert text.count("\n") <= 350, f"{path} has {text.count(chr(10))} lines"


def test_every_command_has_a_module_with_examples_in_its_help() -> None:
    from memcli.cli.command_table import COMMANDS

    folder = PACKAGE / "cli" / "commands"
    assert {each.module for each in COMMANDS} == {
        path.stem for path in folder.glob("*.py") if path.stem != "__init__"
    }
    for command in COMMANDS:
        help_text = ast.get_docstring(ast.parse((folder / f"{command.module}.py").read_text()))
        assert help_text
        assert "Examples:" in help_text
        assert f"memcli {' '.join(command.words)}" in help_text
