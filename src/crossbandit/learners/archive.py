"""Named arrays and a JSON header in one file: a NumPy archive, without pickle.

The archive has a checksum for each member, so damage is noticed. A file may come from an untrusted
source. Its members must not be compressed and must not claim more than the file holds, so a small
file never takes much memory.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import struct
import zipfile
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.errors import CheckpointError
from crossbandit.files import replacing

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

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
    zipfile.BadZipFile,
    zlib.error,
)


class Archive(NamedTuple):
    """What a file holds, and how many bytes it has."""

    header: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]
    size: int


Place = str | os.PathLike[str] | io.BytesIO


def write(
    path: Place,
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    *,
    owner: str,
) -> None:
    """Write a header and arrays to one file, atomically; a symbolic link is followed.

    Args:
        path: The file, or a buffer to write to.
        header: What `json` can write. NaN and infinities are refused.
        arrays: The arrays by name.
        owner: The class whose `save` was called, for messages.

    Raises:
        CheckpointError: The header cannot be written as JSON, or the file cannot be written. What
            was there before is unchanged.
    """
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
    header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], *, owner: str
) -> bytes:
    """Return what `write` would write.

    Args:
        header: What `json` can write. NaN and infinities are refused.
        arrays: The arrays by name.
        owner: The class whose method was called, for messages.

    Raises:
        CheckpointError: The header cannot be written as JSON.
    """
    buffer = io.BytesIO()
    np.savez(buffer, **_members(header, arrays, owner))
    return buffer.getvalue()


def _members(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], owner: str) -> Any:
    try:
        encoded = json.dumps(header, allow_nan=False).encode()
        members = {name: _portable(name, array) for name, array in arrays.items()}
    except (TypeError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{owner}.save cannot write this state: {error}.") from error
    return {**members, _HEADER: np.frombuffer(encoded, dtype=np.uint8)}


def _reason(path: str | os.PathLike[str], error: OSError | ValueError) -> str:
    """Return why a file cannot be written, and what to do."""
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
    """Read what `write` wrote.

    Args:
        path: The file, or a buffer that holds it.

    Raises:
        FileNotFoundError: There is no such file.
        CheckpointError: It cannot be read, or is not such an archive.
    """
    if isinstance(path, io.BytesIO):
        return from_bytes(path.getvalue())
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
    """Read what `to_bytes` returned.

    Args:
        content: The bytes.

    Raises:
        CheckpointError: They are something else.
    """
    try:
        return _read(io.BytesIO(content), len(content))
    except (*_DAMAGE, TypeError) as error:
        raise CheckpointError(
            f"These bytes are not a snapshot, or are damaged: {error}. Take a new one."
        ) from error


def _read(file: IO[bytes], size: int) -> Archive:
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        _check_members(members, size)
        # Reading a member to its end checks its checksum, so that comes first.
        arrays = {
            member.filename.removesuffix(_SUFFIX): _array(archive.read(member))
            for member in members
        }
    return Archive(_parse(arrays.pop(_HEADER)), arrays, size)


def name_of(path: Place) -> str:
    """Return what a file is called in messages.

    Args:
        path: The file, or a buffer.
    """
    return "of bytes" if isinstance(path, io.BytesIO) else repr(os.fspath(path))


def damaged(path: Place, error: Exception) -> CheckpointError:
    """Return the error for a file that is not a checkpoint."""
    return CheckpointError(
        f"The file {name_of(path)} is not a checkpoint, or is damaged: {error}. Go back to an "
        "earlier one, or start a new learner."
    )


def check_finite(
    name: str, array: npt.NDArray[Any], initial: npt.NDArray[Any] | None = None
) -> None:
    """Raise ValueError unless all floats of an array are finite.

    Args:
        name: The name of the array, for the message.
        array: The array. It may have named fields.
        initial: An array of the same shape. Where it is infinite, `array` may be infinite.

    Raises:
        ValueError: A number is NaN or infinite.
    """
    for field in array.dtype.names or ():
        check_finite(f"{name}.{field}", array[field], None if initial is None else initial[field])
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return
    wrong = ~np.isfinite(array)
    if initial is not None and initial.shape == array.shape:
        wrong &= array != initial
    if wrong.any():
        raise ValueError(f"the array {name!r} holds {array[wrong][0]}")


def _check_members(members: list[zipfile.ZipInfo], size: int) -> None:
    """Raise ValueError unless all members together fit into the file and have different names."""
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
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
    data = json.loads(header.tobytes(), parse_float=_finite, parse_constant=_finite)
    if not isinstance(data, dict):
        raise ValueError("its header is not an object")  # noqa: TRY004 - of the file's content
    return data


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"its header holds {text[:20]}, which is not a finite number")
    return number
