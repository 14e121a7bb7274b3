"""Whatever goes wrong with a bad file, said as one of the reasons of `rejects.csv`."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from PIL import Image, UnidentifiedImageError

from convert.contracts import RejectError
from convert.image.magic import broken_header, foreign_format, foreign_jpeg
from convert.image.segments import SOI, end_of_scans


@contextmanager
def every_fault_a_reject(data: bytes) -> Iterator[None]:
    """Whatever Pillow raises is said as one of the reasons; its warnings, one for each odd profile or tag, are not said."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except RejectError:
        raise
    except UnidentifiedImageError as error:
        raise _unidentified(data) from error
    except Image.DecompressionBombError as error:
        raise RejectError("too_large", str(error)) from error
    except MemoryError as error:
        raise RejectError("too_large", "not enough memory to decode it") from error
    except Exception as error:  # OSError, SyntaxError, ValueError, struct.error: Pillow raises almost anything
        reason = "truncated" if "truncated" in str(error).lower() else "corrupt"
        raise RejectError(reason, f"{type(error).__name__}: {error}") from error


def _unidentified(data: bytes) -> RejectError:
    """Why Pillow found no picture."""
    if name := foreign_jpeg(data) if data.startswith(SOI) else foreign_format(data):
        return RejectError("unsupported_format", f"{name}, which this Pillow does not read")
    if fault := broken_header(data):
        return RejectError(*fault)
    if data.startswith(SOI):
        return RejectError(
            "truncated" if end_of_scans(data) == len(data) else "corrupt", f"a JPEG of {len(data)} bytes without a whole header"
        )
    return RejectError("not_an_image", f"begins with {data[:16]!r}")
