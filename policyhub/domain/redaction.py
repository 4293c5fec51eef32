"""Takes secrets out of device text before anyone stores or shows it.

Two nets: the values we know (a login lent for this session), and the words after which devices print secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MASK = "********"
MIN_SECRET = 4  # shorter values would mask half of a configuration without protecting anything

_VALUE = r"(?P<value>\"[^\"\r\n]*\"|\S+)"
_AFTER = (
    # the word before the secret, and what may stand in between (an encryption type, a cipher keyword)
    r"(?:password|passwd|passphrase|secret|pre-shared-key|key-string|auth-key|md5|psk|wpa-psk)"
    r"(?:[ \t]+(?:\d{1,2}|simple|cipher|irreversible-cipher|hash|plain|encrypted|ENC|level[ \t]+\d+))*",
    r"snmp-server[ \t]+community",
    r"snmp-agent[ \t]+community[ \t]+(?:read|write)(?:[ \t]+(?:cipher|simple))?",
    r"(?:tacacs-server|radius-server)[ \t]+(?:\S+[ \t]+){0,6}?(?:key|shared-key)(?:[ \t]+(?:\d{1,2}|cipher|simple))?",
    r"key[ \t]+(?:\d{1,2}|cipher|simple)",
    r"ppp[ \t]+chap[ \t]+password(?:[ \t]+\d)?",
)
_PRINTED = re.compile(rf"(?im)(?P<lead>(?:^|(?<=[ \t]))(?:{'|'.join(_AFTER)})[ \t]+){_VALUE}")
_PEM = re.compile(r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)")


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text with known secrets and everything that devices print as secrets masked; line count unchanged outside of keys.

    Works on the whole text: a secret that a reader received in two pieces is whole again here.
    """
    for secret in sorted({value for value in secrets if len(value) >= MIN_SECRET}, key=len, reverse=True):
        text = text.replace(secret, MASK)
    text = _PEM.sub(MASK, text)
    return _PRINTED.sub(lambda found: found["lead"] + MASK, text)
