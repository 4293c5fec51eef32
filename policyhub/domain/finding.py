"""The result of a check: what, where, how bad, the evidence and a safe suggestion."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from policyhub.domain.message import Message

NO_ADVICE = Message("")


class Severity(StrEnum):
    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"

    @property
    def rank(self) -> int:
        """4 is worst."""
        return 4 - list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """said: what was found. advice: suggestion in plain words. `by`: rules that cause it (the coverers). `lines`: 1-based."""

    code: str
    name: str
    severity: Severity
    policy: str
    rule: str
    lines: tuple[int, ...]
    said: Message
    evidence: Mapping[str, Any] = field(default_factory=dict)
    by: tuple[str, ...] = ()
    advice: Message = NO_ADVICE
    device: str = ""

    @property
    def message(self) -> str:
        """In English, as files and programs read it."""
        return str(self.said)

    @property
    def fix(self) -> str:
        """The advice in English."""
        return str(self.advice)

    @property
    def fingerprint(self) -> str:
        """Stable over sweeps: same check, device, policy and rule."""
        key = json.dumps([self.code, self.device, self.policy, self.rule], ensure_ascii=False)
        return hashlib.sha256(key.encode()).hexdigest()
