"""How large the code is, and how it is cut: `python -m benchmarks.house`.

It prints a table: what was counted in `src`, and the most that there may be. It reads the sources
and imports none of them. `--names` prints what was counted by name, too, and `--walk` follows a
replay and a simulation, which takes longer.

Users can reach what a top-level module exports by `__all__`, what the reference shows beside that,
and the public members of such classes and of their base classes. Structs are reached over HTTP,
and the docstrings of commands and of their options by `--help`.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from website.subjects import PAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
CHOOSING = ("act", "choose", "decide", "draw", "play")
LEARNING = ("absorb", "learn", "note", "see", "settle", "update")
SECTION = re.compile(r"^(?:Args|Attributes|Raises|Returns|Yields):$")
_DECISION = re.compile(  # the others are the bids of a log, and a memory
    r"(?!OwnBids|SeenDecisions)\w*(?:Action|Bid|Choice|Decision|Offer|Order)(?:s|Arrays|Batch|Row)?"
)
_QUIET = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
_MAKERS = ("__init__", "__new__")
_COMMAND = "takes_options"  # what makes a function a command
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Args:
        what: What was counted.
        found: How much there is, for each part.
        most: How much there may be, for each part. Without it there is no bar.
        names: What was counted, by name.
    """

    what: str
    found: tuple[float, ...]
    most: tuple[float, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        """Whether no part exceeds its bar."""
        return not self.most or all(a <= b for a, b in zip(self.found, self.most, strict=True))

    def __str__(self) -> str:
        """Return the row in Markdown."""
        found = " / ".join(f"{one:,.0f}" for one in self.found)
        most = " / ".join(f"{one:,.0f}" for one in self.most).replace("inf", "-")
        verdict = "" if not self.most else "kept" if self.kept else "exceeded"
        return f"| {self.what} | {found} | {most} | {verdict} |"


class Module:
    """A source file.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.source = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.source)
        self.nodes = list(ast.walk(self.tree))

    def code_lines(self) -> int:
        """Return the number of lines without docstrings, comments and blank lines."""
        lines: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.source).readline):
            if token.type not in _QUIET and token.string:
                lines.update(range(token.start[0], token.end[0] + 1))
        for node in self.nodes:
            if isinstance(node, ast.Module | _Definition) and ast.get_docstring(node, clean=False):
                lines.difference_update(range(node.body[0].lineno, _end(node.body[0])))
        return len(lines)

    @cached_property
    def top(self) -> dict[str, ast.stmt]:
        """The statements that define or import the names of the module."""
        found: dict[str, ast.stmt] = {}
        for node in self.nodes:  # imports may be within `if TYPE_CHECKING`
            if isinstance(node, ast.ImportFrom):
                found |= {alias.asname or alias.name: node for alias in node.names}
        for statement in self.tree.body:
            if isinstance(statement, _Definition):
                found[statement.name] = statement
            elif isinstance(statement, ast.Assign):
                names = [one.id for one in statement.targets if isinstance(one, ast.Name)]
                found |= dict.fromkeys(names, statement)
        return found

    @property
    def public(self) -> list[str]:
        """What the module exports by `__all__`, or else all that it defines for others."""
        exported = self.top.get("__all__")
        if isinstance(exported, ast.Assign):
            return list(ast.literal_eval(exported.value))
        defined = [name for name, node in self.top.items() if isinstance(node, _Definition)]
        return [name for name in defined if name[0] != "_"]


class House:
    """All source files of a package.

    Args:
        folder: The folder of the package.
        pages: What the reference shows: names of modules, and of single classes and functions.
    """

    def __init__(self, folder: Path, pages: tuple[str, ...] = ()) -> None:
        self.folder, self.pages = folder, pages
        self.modules: dict[str, Module] = {}
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder.parent).with_suffix("").parts
            self.modules[".".join(parts).removesuffix(".__init__")] = Module(path)
        self.nodes = [node for module in self.modules.values() for node in module.nodes]
        self.classes = [node for node in self.nodes if isinstance(node, ast.ClassDef)]
        self.functions = [node for node in self.nodes if isinstance(node, _Function)]

    @cached_property
    def reachable(self) -> set[ast.AST]:
        """The definitions that users can reach."""
        found: set[ast.AST] = set()
        for home, module in self.modules.items():
            if home in self.pages or (home.count(".") < 2 and "__all__" in module.top):
                for name in module.public:
                    self._reach(home, name, found)
        for page in self.pages:
            home, _, name = page.rpartition(".")
            self._reach(home, name, found)
        bases = {one: [getattr(base, "attr", "") for base in one.bases] for one in self.classes}
        return found | {one for one in bases if "Struct" in bases[one]} | self._commands()

    def _commands(self) -> set[ast.AST]:
        """Return the functions that are commands, and the classes that have their options."""
        found = {
            one
            for one in self.functions
            if any(ast.unparse(mark).endswith(_COMMAND) for mark in one.decorator_list)
        }
        kinds = {getattr(given.annotation, "id", "") for one in found for given in one.args.args}
        return {*found, *(one for one in self.classes if one.name in kinds)}

    def _reach(self, home: str, name: str, found: set[ast.AST]) -> None:
        """Add what a name of a module stands for."""
        node = self.modules[home].top.get(name) if home in self.modules else None
        if isinstance(node, ast.ImportFrom) and node.module in self.modules:
            original = {one.asname or one.name: one.name for one in node.names}[name]
            inner = self.modules.get(f"{node.module}.{original}")
            if node.module != home and original in self.modules[node.module].top:
                self._reach(node.module, original, found)
            else:  # a module, such as `algorithms.tuning`
                for one in inner.public if inner else ():
                    self._reach(f"{node.module}.{original}", one, found)
        elif isinstance(node, ast.Assign):  # another name of something
            used = {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
            for one in used - {name}:
                self._reach(home, one, found)
        elif isinstance(node, _Definition) and node not in found:
            found.add(node)
            if isinstance(node, ast.ClassDef):
                self._reach_members(home, node, found)

    def _reach_members(self, home: str, node: ast.ClassDef, found: set[ast.AST]) -> None:
        """Add the public members of a class, functions that fields have, and its base classes."""
        members = [one for one in node.body if isinstance(one, _Definition)]
        found |= {one for one in members if one.name[0] != "_" or one.name in _MAKERS}
        fields = [one.value for one in node.body if isinstance(one, ast.Assign | ast.AnnAssign)]
        for base in node.bases + fields:
            plain = base.value if isinstance(base, ast.Subscript) else base
            if isinstance(plain, ast.Name):
                self._reach(home, plain.id, found)

    def unreachable_sections(self) -> Iterator[tuple[str, int]]:
        """Yield definitions that no user can reach, with lines of their `Args:` and the like."""
        for name, module in self.modules.items():
            for node in module.nodes:
                if isinstance(node, _Definition) and node not in self.reachable:
                    found = sum(map(len, sections(ast.get_docstring(node) or "")))
                    yield from [(f"{name}.{node.name}", found)] * (found > 0)

    def rows(self) -> Iterator[Row]:
        """Yield the rows of the table."""
        files, code = len(self.modules), sum(one.code_lines() for one in self.modules.values())
        yield Row("lines of code", (code,), (30_000,))
        yield Row("files / lines of code per file", (files, code / files), (180, 170))
        imports = [one for one in self.nodes if isinstance(one, ast.Import | ast.ImportFrom)]
        yield Row("import lines", (sum(_end(one) - one.lineno for one in imports),), (2_500,))
        tops = sorted({name.split(".")[1] for name in self.modules if "." in name} - {"__main__"})
        yield Row("top-level packages and modules", (len(tops),), (14,), tuple(tops))

        uses = Counter(one.id for one in self.nodes if isinstance(one, ast.Name))
        uses += Counter(one.attr for one in self.nodes if isinstance(one, ast.Attribute))
        known = Counter(one.name for one in self.functions)
        once = tuple(name for name in known if known[name] == uses[name] == 1)
        found = len(once), 100 * len(once) / len(self.functions)
        yield Row("functions used once / per cent", found, (float("inf"), 12), once)
        wide = sorted(((_parameters(one), one.name) for one in self.functions), reverse=True)
        seven = tuple(f"{name} {count}" for count, name in wide if count >= 7)
        most = len(seven), wide[0][0]
        yield Row("functions with 7 parameters or more / most", most, (25, 10), seven)

        names = Counter(one.name for one in self.classes)
        twice = tuple(f"{name} {count}" for name, count in names.most_common() if count > 1)
        yield Row("class names that exist twice or more", (len(twice),), (0,), twice)
        members = [one for owner in self.classes for one in owner.body]
        methods = Counter(one.name for one in members if isinstance(one, _Function))
        words = tuple(f"{one} {methods[one]}" for one in CHOOSING + LEARNING if methods[one])
        kinds = tuple(sum(one in methods for one in some) for some in (CHOOSING, LEARNING))
        yield Row("words for choosing / for learning", kinds, (2, 2), words)
        decisions = tuple(sorted(name for name in names if _DECISION.fullmatch(name)))
        yield Row("types for a decision", (len(decisions),), (5,), decisions)
        inner = sorted(self.unreachable_sections(), key=lambda one: -one[1])
        described = tuple(f"{name} {count}" for name, count in inner)
        total = sum(count for _, count in inner)
        yield Row("lines of Args: that no user can reach", (total,), (0,), described)


def sections(text: str) -> Iterator[list[str]]:
    """Yield the lines of `Args:`, `Returns:` and the like of a docstring, each with its heading.

    Args:
        text: The docstring, without its indent.
    """
    inside: list[str] = []
    for line in [*text.splitlines(), "end"]:
        if line.startswith(" ") or not line.strip():
            inside += [line] if inside and line.strip() else []
            continue
        if inside:
            yield inside
        inside = [line] if SECTION.match(line) else []


def _end(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) + 1


def _parameters(node: _Function) -> int:
    given = node.args
    names = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    return len([one for one in names if one and one.arg not in {"self", "cls"}])


def beside(root: Path) -> Iterator[Row]:
    """Yield how much there is to read beside the code.

    Args:
        root: The folder of the project.
    """
    pages = [path.read_text(encoding="utf-8") for path in root.glob("docs/**/*.md")]
    yield Row("pages of docs / words", (len(pages), sum(len(one.split()) for one in pages)))
    others = tuple(_other_lines(root, kinds) for kinds in (("pxd",), ("js",), ("html", "css")))
    yield Row("lines of declarations of cores / scripts / templates and styles", others)
    tests = [path.read_text(encoding="utf-8") for path in root.glob("tests/**/*.py")]
    yield Row("files of tests / lines", (len(tests), sum(one.count("\n") for one in tests)))


def _other_lines(root: Path, kinds: tuple[str, ...]) -> int:
    """Return how many lines are not blank in the files of `src` whose names end like this."""
    found = [path for kind in kinds for path in root.glob(f"src/**/*.{kind}")]
    lines = (path.read_text(encoding="utf-8").splitlines() for path in found)
    return sum(bool(line.strip()) for one in lines for line in one)


def own_house() -> House:
    """Return this package, as it is in `src`."""
    pages = tuple(source for page in PAGES for source in page.sources)
    return House(ROOT / "src/crossbandit", pages)


def main() -> None:
    """Print the table. The command fails if a bar is not kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.house")
    parser.add_argument("--names", action="store_true", help="print what was counted by name")
    parser.add_argument("--walk", action="store_true", help="follow a replay and a simulation")
    options = parser.parse_args()
    rows = [*own_house().rows(), *beside(ROOT)]
    if options.walk:
        from benchmarks.walk import walked

        files = len(walked("replay")[0]), len(walked("simulate")[0])
        rows.append(Row("files walked by replay / simulate", files, (40, 16)))
    print("| | found | at most | |\n|---|---:|---:|---|", *rows, sep="\n")
    for row in rows:
        if options.names and row.names:
            print(f"\n{row.what}: {', '.join(row.names)}")
    sys.exit(not all(row.kept for row in rows))


if __name__ == "__main__":
    main()
