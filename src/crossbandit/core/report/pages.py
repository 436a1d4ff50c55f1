"""Pages as HTML, and the folders that reports are written into.

A page is one HTML file, with its style, its script and its data inside. It loads nothing.

A user of this module has a template that extends `page.html`. It holds the sentences of the page,
and places its tables and charts by the macros in `parts.html`. All text is escaped by Jinja.
"""

from __future__ import annotations

import json
import re
import tempfile
from fnmatch import fnmatch
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from crossbandit.core.files import write_file
from crossbandit.core.report import text
from crossbandit.errors import ResultsError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from jinja2 import Environment

    from crossbandit.core.report.data import Chart, Table

_SCRIPTS = ("drawing.js", "charts.js", "controls.js")
_CLASSES = {"other": "theirs", "best": "best", "outside": "outside"}
KEYS = "Point at a chart, or focus it and use the arrow keys, to read the values."


def render(
    package: str,
    template: str,
    *,
    title: str,
    charts: Mapping[str, Sequence[Chart]],
    names: Sequence[str] = (),
    say: Callable[[str], str] = str,
    **values: Any,
) -> str:
    """Return a page as text.

    Args:
        package: The package whose folder `templates` holds the template.
        template: The name of the template. It extends `page.html`.
        title: The heading of the page.
        charts: The charts by the place on the page that they belong to. Where there are several
            for one place, the template has a control to choose between them.
        names: The series that a reader can show and hide, in the order of their colours. Series
            that are not among them have a legend below their chart.
        say: How the sentences are said that the template gives to the filter of this name.
        values: What else the template uses.

    Returns:
        HTML. The same arguments give the same text.
    """
    data = {
        "names": list(names),
        "charts": {place: [chart.to_json() for chart in some] for place, some in charts.items()},
    }
    environment = _environment(package)
    environment.filters["say"] = say
    return environment.get_template(template).render(
        title=title,
        names=names,
        charts=charts,
        keys=KEYS,
        css=_asset("page.css"),
        script="\n\n".join(map(_asset, _SCRIPTS)),
        data=script_json(data),
        **values,
    )


def script_json(data: object) -> str:
    r"""Return data as JSON that cannot end the script element that contains it.

    >>> script_json({"a": "</script>"})
    '{"a":"\\u003c/script>"}'
    """
    found = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return found.replace("<", "\\u003c")


def _environment(package: str) -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    loader = ChoiceLoader([PackageLoader(package), PackageLoader("crossbandit.core.report")])
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    link = "data:text/csv;charset=utf-8,{}"
    environment.filters |= {
        "count": text.count,
        "words": _words,
        "data_link": lambda content: link.format(quote(content)),
    }
    environment.globals["classes"] = _classes
    return environment


def _classes(table: Table, column: int, style: str = "") -> str:
    """Return the CSS classes of a cell."""
    name = table.head[column]
    kind = "n" if table.is_number(column) else name if table.checks else ""
    roomy = "roomy" if column and name in table.roomy else ""
    return " ".join(filter(None, (kind, roomy, _CLASSES.get(style))))


def _words(sentence: str) -> str:
    """Return text with typographic apostrophes. Jinja escapes it afterwards."""
    return re.sub(r"(?<=\w)'(?=\w)", "\N{RIGHT SINGLE QUOTATION MARK}", sentence)


def _asset(name: str) -> str:
    return (files("crossbandit.core.report") / "assets" / name).read_text(encoding="utf-8").strip()


def check_folder(folder: Path, written: Collection[str], what: str) -> None:
    """Make sure that a report can be written into a folder, before anything is computed for it.

    Args:
        folder: The folder. It is made if it does not exist.
        written: The names of the files that may be in it already, or patterns of names.
        what: The kind of report, as in "a replay".

    Raises:
        ResultsError: If the folder holds any other file, or cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise ResultsError(f"{folder} is not a folder. Choose another one with --out.")
    names = sorted(path.name for path in folder.glob("*"))
    others = [name for name in names if not any(fnmatch(name, known) for known in written)]
    if others:
        raise ResultsError(
            f"The folder {str(folder)!r} holds files that are not part of {what}: {others[0]!r}. "
            "Choose another one with --out."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ResultsError(
            f"The folder {str(folder)!r} cannot be written: {error.strerror}. Choose another one "
            "with --out."
        ) from error


def write_files(folder: Path, contents: Mapping[str, str | bytes]) -> list[Path]:
    """Write files into a folder, each atomically.

    A symbolic link of the same name is replaced. Its target is not changed.

    Args:
        folder: The folder. It is made if it does not exist.
        contents: The files by name. Text is written as UTF-8.

    Returns:
        The paths, in the same order.

    Raises:
        ResultsError: If a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            write_file(folder / name, content)
    except OSError as error:
        raise ResultsError(
            f"The report cannot be written into {str(folder)!r}: {error.strerror}."
        ) from error
    return [folder / name for name in contents]
