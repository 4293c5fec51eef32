"""Where things lie in the data folder. Every process of one service computes the same paths from the same folder."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from pathlib import Path

from policyhub.conf.environment import ConfigurationError

# sun_path holds 108 bytes with its final zero; longer paths are cut without an error and bind elsewhere.
MAX_SOCKET_PATH_BYTES = 106
DEFAULT_DATA = "data"


def data_dir() -> Path:
    """POLICYHUB_DATA, else ./data; absolute, not necessarily there yet."""
    return Path(os.environ.get("POLICYHUB_DATA") or DEFAULT_DATA).absolute()


def socket_path(data: Path, name: str) -> Path:
    """`<data>/run/<name>`, or a short private folder when that path would be cut by the kernel."""
    path = data / "run" / name
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH_BYTES:
        return path
    digest = hashlib.sha256(os.fsencode(data.resolve())).hexdigest()[:12]
    short = Path(tempfile.gettempdir()) / f"policyhub-{os.geteuid()}-{digest}" / name
    if len(os.fsencode(short)) > MAX_SOCKET_PATH_BYTES:
        raise ConfigurationError(
            f"{short}: too long for a socket ({MAX_SOCKET_PATH_BYTES} bytes). Set TMPDIR to a shorter folder."
        )
    return short


def private_folder(path: Path) -> Path:
    """Make the folder 0700; refuse one that somebody else could have put there (the short ones live in a shared /tmp)."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.lstat()
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}. Choose a folder you may write to with --data.") from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise ConfigurationError(f"{path}: not a private folder of this user. Remove it, or `chmod 700` it if it is yours.")
    return path


def broker_url(data: Path) -> str:
    return f"redis+socket://{socket_path(data, 'redis.sock')}"
