"""Records: states as trees of named arrays and numbers, checked, filled, added, and kept in files.

A state is a mapping from names to arrays; a record is a JSON header and such mappings by name. The
same functions save and load learners, laws, tests, guards, limits and memories of decisions.

A file is a NumPy archive, without pickle. It has a checksum for each member, so damage is noticed.
It may come from an untrusted source: its members must not be compressed and must not claim more
than the file holds, so a small file never takes much memory.
"""

from __future__ import annotations

import io
import math
import os
import re
import struct
import zlib
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.core.files import replacing
from crossbandit.errors import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from zipfile import ZipInfo

    import numpy.typing as npt

    Arrays = Mapping[str, npt.NDArray[Any]]

_HEADER = "header"
_SUFFIX = ".npy"

# The start of a member as NumPy writes it: magic bytes, length, type, order, shape, padding.
_MEMBER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': (?P<type>'[^']*'|\[[^\]]*\]), "
    rb"'fortran_order': (?P<fortran>True|False), 'shape': \((?P<shape>[0-9, ]*)\), \} *\n",
    re.DOTALL,
)
_NAME = re.compile(r"[\w.-]+")
_SCALAR = r"'(?:\|b1|[<|][iu][1248]|<f[48])'"
_SCALAR_TYPE = re.compile(_SCALAR)
_FIELD = re.compile(rf"\('(\w+)', ({_SCALAR})\)")

_DAMAGE = (
    EOFError,
    KeyError,
    NotImplementedError,  # an unknown kind of zip file
    RuntimeError,  # an encrypted member; RecursionError, from deeply nested JSON
    ValueError,
    struct.error,
    zlib.error,
)


class Field(NamedTuple):
    """What an array of a state may hold, beyond the type and the shape of a model's."""

    low: float = -math.inf  # the lowest number
    high: float = math.inf  # the highest number
    rows: str | None = None
    grows: bool = False  # whether it may have more rows, too


_ANY = Field()


def check(model: Arrays, given: Arrays, fields: Mapping[str, Field], what: str) -> None:
    """Raise CheckpointError unless arrays have the names, types and shapes of a model's.

    Their numbers must be finite, or infinite where the model's are, and in the ranges of `fields`.
    """
    if wrong := sorted(model.keys() ^ given.keys()):
        raise CheckpointError(
            f"The arrays of a {what} must be {', '.join(model)}. Missing or unknown: "
            f"{', '.join(wrong[:20])}."
        )
    groups: dict[str, int] = {}
    for name, own in model.items():
        one, field = given[name], fields.get(name, _ANY)
        shape = own.shape
        if field.rows is not None and one.ndim and (field.grows or len(one) <= len(own)):
            shape = (groups.setdefault(field.rows, len(one)), *own.shape[1:])
        if one.shape != shape or one.dtype != own.dtype:
            raise CheckpointError(
                f"The array {name!r} of a {what} is impossible: it must have the shape {shape} and "
                f"the type {own.dtype}. Got {one.shape}, {one.dtype}."
            )
        if found := not_finite(name, one, own):
            raise CheckpointError(f"A {what} is impossible: {found}.")
        if field != _ANY and one.size and not field.low <= one.min() <= one.max() <= field.high:
            raise CheckpointError(
                f"The array {name!r} of a {what} is impossible: it holds numbers that are not from "
                f"{field.low:g} to {field.high:g}."
            )


def not_finite(name: str, one: npt.NDArray[Any], model: npt.NDArray[Any] | None = None) -> str:
    """Return what is wrong if a number is NaN, or infinite where that of a model is not."""
    for field in one.dtype.names or ():
        own = None if model is None else model[field]
        if found := not_finite(f"{name}.{field}", one[field], own):
            return found
    if one.dtype.kind != "f" or np.isfinite(one).all():
        return ""
    wrong = ~np.isfinite(one)
    if model is not None and model.shape == one.shape:
        wrong &= one != model
    return f"the array {name!r} holds {one[wrong][0]}" if wrong.any() else ""


def fill(model: Arrays, given: Arrays, fields: Mapping[str, Field], what: str) -> None:
    """Check arrays, and copy them to a model's; rows that are not given stay as they are."""
    check(model, given, fields, what)
    for name, own in model.items():
        one = given[name]
        (own[: len(one)] if one.ndim else own)[...] = one


def add(state: Arrays, other: Arrays, names: Iterable[str]) -> None:
    """Add the named arrays of another state, in place."""
    for name in names:
        state[name][...] += other[name]


def joined(parts: Mapping[str, Arrays]) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of several states under one name each, as a file has them."""
    return {
        f"{part}.{name}" if name else part: one
        for part, state in parts.items()
        for name, one in state.items()
    }


def parted(arrays: Arrays, parts: Iterable[str]) -> dict[str, dict[str, npt.NDArray[Any]]]:
    """Return the states that `joined` was given; raise CheckpointError if there are others."""
    found: dict[str, dict[str, npt.NDArray[Any]]] = {part: {} for part in parts}
    for name, one in arrays.items():
        part, _, rest = name.partition(".")
        if part not in found:
            raise CheckpointError(f"It has an unknown member, {name!r}.")
        found[part][rest] = one
    return found


# ------------------------------------------------------------------------------------------ files


class Archive(NamedTuple):
    """What a file holds, and how many bytes it has."""

    header: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]
    size: int


Place = str | os.PathLike[str] | io.BytesIO


def write(
    path: Place,
    header: Mapping[str, Any],
    arrays: Arrays,
    *,
    owner: str,
    model: Callable[[], Arrays] = dict,
    checked: Iterable[str] = (),
) -> None:
    """Write a header and arrays to one file, atomically; a symbolic link is followed."""
    unchecked = {name: one for name, one in arrays.items() if name not in checked}
    if any(not_finite(name, one) for name, one in unchecked.items()):
        start = model()  # which may hold infinities, such as the least loss before any loss
        for name, one in unchecked.items():
            if wrong := not_finite(name, one, start.get(name)):
                raise broken(owner, wrong)
    members = _members(header, arrays, owner)
    if isinstance(path, io.BytesIO):
        np.savez(path, **members)
        return
    try:
        with replacing(path, follow_links=True) as temporary, temporary.open("wb") as file:
            np.savez(file, **members)
    except (OSError, ValueError) as error:  # a ValueError if no file can have this name
        raise CheckpointError(
            f"{owner}.save cannot write {os.fspath(path)!r}: {_reason(path, error)}"
        ) from error


def to_bytes(
    header: Mapping[str, Any], arrays: Arrays, *, owner: str, model: Callable[[], Arrays] = dict
) -> bytes:
    """Return what `write` would write."""
    buffer = io.BytesIO()
    write(buffer, header, arrays, owner=owner, model=model)
    return buffer.getvalue()


def _members(header: Mapping[str, Any], arrays: Arrays, owner: str) -> Any:
    import json

    try:
        encoded = json.dumps(header, allow_nan=False).encode()
        members = {name: _portable(name, array) for name, array in arrays.items()}
    except (TypeError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{owner}.save cannot write this state: {error}.") from error
    return {**members, _HEADER: np.frombuffer(encoded, dtype=np.uint8)}


def broken(owner: str, wrong: str) -> CheckpointError:
    """Return the error for a state that is not written."""
    return CheckpointError(
        f"{owner}.save does not write a broken state: {wrong}. Nothing was written; go back to an "
        "earlier checkpoint."
    )


def check_version(path: Place, header: Mapping[str, Any], read: tuple[int, ...]) -> None:
    """Raise CheckpointError unless a header has a version that is read."""
    if header.get("version") not in read:
        formats = f"format {read[0]}" if len(read) == 1 else f"formats {read[0]} to {read[-1]}"
        raise CheckpointError(
            f"The checkpoint {name_of(path)} has format {header.get('version')!r}, and this "
            f"version of Crossbandit reads {formats}. Load it with the version that wrote it, or "
            "start a new learner."
        )


def _reason(path: str | os.PathLike[str], error: OSError | ValueError) -> str:
    """Return why a file cannot be written, and what to do."""
    from pathlib import Path

    folder = Path(os.fsdecode(path)).parent
    try:
        missing = not folder.is_dir()
    except ValueError:  # a name with a null character
        missing = False
    if missing:
        return f"there is no folder {os.fspath(folder)!r}. Make it first."
    cause = error.strerror if isinstance(error, OSError) and error.strerror else error
    return f"{cause}. Save to another file."


def read(path: Place) -> Archive:
    """Read what `write` wrote; raise FileNotFoundError or CheckpointError if that is impossible."""
    if isinstance(path, io.BytesIO):
        return from_bytes(path.getvalue())
    from pathlib import Path

    file_path = Path(path)
    try:
        if file_path.exists() and not file_path.is_file():
            raise ValueError("it is not a regular file")
        with file_path.open("rb") as file:
            return _read(file, os.fstat(file.fileno()).st_size)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise CheckpointError(
            f"The file {os.fspath(path)!r} cannot be read: {error.strerror or error}."
        ) from error
    except _DAMAGE as error:
        raise damaged(path, error) from error


def from_bytes(content: bytes) -> Archive:
    """Read what `to_bytes` returned; raise CheckpointError if it is something else."""
    try:
        return _read(io.BytesIO(content), len(content))
    except (*_DAMAGE, TypeError) as error:
        raise CheckpointError(
            f"These bytes are not a snapshot, or are damaged: {error}. Take a new one."
        ) from error


def _read(file: IO[bytes], size: int) -> Archive:
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(file) as archive:
            members = archive.infolist()
            _check_members(members, size)
            # Reading a member to its end checks its checksum, so that comes first.
            arrays = {
                member.filename.removesuffix(_SUFFIX): _array(archive.read(member))
                for member in members
            }
    except BadZipFile as error:
        raise ValueError(str(error)) from error
    return Archive(_parse(arrays.pop(_HEADER)), arrays, size)


def name_of(path: Place) -> str:
    """Return what a file is called in messages."""
    return "of bytes" if isinstance(path, io.BytesIO) else repr(os.fspath(path))


def damaged(path: Place, error: Exception) -> CheckpointError:
    """Return the error for a file that is not a checkpoint."""
    return CheckpointError(
        f"The file {name_of(path)} is not a checkpoint, or is damaged: {error}. Go back to an "
        "earlier one, or start a new learner."
    )


def _check_members(members: list[ZipInfo], size: int) -> None:
    """Raise ValueError unless all members together fit into the file and have different names."""
    from zipfile import ZIP_STORED

    if any(member.compress_type != ZIP_STORED for member in members):
        raise ValueError("it has compressed members")
    if any(member.file_size != member.compress_size for member in members):
        raise ValueError("a member has two sizes")
    if sum(member.file_size for member in members) > size:
        raise ValueError("its members are larger than the file")
    names = [member.filename for member in members]
    if len(set(names)) != len(names) or not all(name.endswith(_SUFFIX) for name in names):
        raise ValueError("its members have unexpected names")


def _portable(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array as it is written: little-endian, of a type that `_array` reads."""
    portable = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a name of letters, digits, '_', '.' and '-'")
    try:
        _dtype(repr(np.lib.format.dtype_to_descr(portable.dtype)))
    except ValueError:
        raise ValueError(f"the array {name!r} has the type {array.dtype}") from None
    return portable


def _array(content: bytes) -> npt.NDArray[Any]:
    """Return the array in a member.

    NumPy's own reader would evaluate the member's header as Python, and allocate what it claims.
    """
    start = _MEMBER.match(content)
    if start is None:
        raise ValueError("a member is not a plain array")
    dtype = _dtype(start["type"].decode("ascii"))
    shape = tuple(int(length) for length in start["shape"].decode().split(",") if length.strip())
    if math.prod(shape) * dtype.itemsize != len(content) - start.end():
        raise ValueError(f"a member of shape {str(shape)[:80]} has {len(content)} bytes")
    order: Any = "F" if start["fortran"] == b"True" else "C"
    flat = np.frombuffer(content, dtype=dtype, offset=start.end())
    return flat.reshape(shape, order=order).astype(dtype.newbyteorder("="))


def _dtype(text: str) -> np.dtype[Any]:
    """Return a type of booleans, integers or floats, or of named fields of them."""
    if _SCALAR_TYPE.fullmatch(text):
        return np.dtype(text.strip("'"))
    fields = [(name, scalar.strip("'")) for name, scalar in _FIELD.findall(text)]
    if not fields or repr(fields) != text:
        raise ValueError(f"a member has the type {text[:80]}")
    return np.dtype(fields)


def _parse(header: npt.NDArray[Any]) -> dict[str, Any]:
    import json

    data = json.loads(header.tobytes(), parse_float=_finite, parse_constant=_finite)
    if not isinstance(data, dict):
        raise ValueError("its header is not an object")  # noqa: TRY004 - of the file's content
    return data


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"its header holds {text[:20]}, which is not a finite number")
    return number
