"""A CSV that a user names, plain or compressed (.gz, .bz2, .xz, .zip)."""
import lzma
import tarfile
import zipfile
import zlib
from pathlib import Path

import pandas as pd

from study.errors import UserError

CUT_OFF = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError)   # besides OSError, ValueError


def read(path: Path | str, name: str, give: str, **options) -> pd.DataFrame:
    """The table at `path`; `options` are pandas's. A UserError says why there is none, of what (`name`), what to `give`."""
    try:
        return pd.read_csv(path, **options)
    except UnicodeDecodeError:
        reason = "it is not text"
    except CUT_OFF as error:
        reason = f"compressed, and cut off or damaged: {_sentence(error)}"
    except (ImportError, RuntimeError):     # an encrypted zip is the latter
        reason = "compressed in a way that is not read here; unpack it"
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or _sentence(error)
    raise UserError(f"cannot read {name} {path} ({reason}); {give}")


def _sentence(error: Exception) -> str:
    """The first sentence of what pandas or a library says."""
    first = str(error).splitlines()[0].removeprefix("Error tokenizing data. C error: ")
    return first.split(". ")[0].rstrip(".")
