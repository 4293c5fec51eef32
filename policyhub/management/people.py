"""Who speaks at a command line: a user of the service, named with --as, and the login of the machine beside it."""

from __future__ import annotations

import argparse
import getpass
from typing import TYPE_CHECKING

from policyhub.domain.errors import BadInput

if TYPE_CHECKING:
    from django.contrib.auth.models import User

VIA = f"cli:{getpass.getuser()}"


def add_as(parser: argparse.ArgumentParser, what: str) -> None:
    """The option --as USER. Nothing here asks for a password: who runs this command can read the keys; the audit names both."""
    parser.add_argument("--as", dest="user", required=True, metavar="USER", help=f"the user of the service who {what}")


def named_user(name: str, permission: str, what: str) -> User:
    """An active user who holds `permission`. Raises BadInput: nobody of that name, or one who may not `what`."""
    from django.contrib.auth import get_user_model

    user: User | None = get_user_model().objects.filter(username=name, is_active=True).first()
    if user is None:
        raise BadInput(f"{name!r} is not an active user of the service. Give the log-in of a person; /admin/ lists them")
    if not user.has_perm(permission):
        raise BadInput(f"{name!r} may not {what}: the permission {permission} is missing. An administrator can grant it")
    return user
