"""What an account must be allowed to do on a platform, from the data by which the platform is read and pushed to."""

from __future__ import annotations

import re

from policyhub.vendorkit.collecting import ReadProfile, read_profile


def read_lines(profile: ReadProfile) -> tuple[str, ...]:
    """Whole-line regular expressions of what a read account types, in the order of a session."""
    greeting = profile.greeting
    asked = (greeting.enable,) if greeting and greeting.enable else ()
    return tuple(
        f"^{re.escape(line)}$".replace("\\ ", " ").replace("\\-", "-") for line in (*asked, *profile.setup, *profile.commands)
    )


def push_lines(profile: ReadProfile) -> tuple[str, ...]:
    """The same for a push account, () where nothing is pushed."""
    return (*read_lines(profile), *(f"^{line}$" for line in profile.push)) if profile.push else ()


def account_text(platform: str) -> str:
    """The command authorisation of two accounts in the form of tac_plus; HWTACACS servers ask alike. Raises UnknownPlatform."""
    profile = read_profile(platform)
    read = read_lines(profile)
    parts = [
        f"# {platform}: read account. Everything else is to be refused.",
        *_group("policyhub-read", read, profile.shell),
        "",
    ]
    if profile.push:
        parts += [
            f"# {platform}: push account, a login of its own. It may also what the read account may.",
            *_group("policyhub-push", push_lines(profile), profile.shell),
        ]
    else:
        parts.append(f"# {platform}: nothing is pushed to it, so it needs no push account.")
    return "\n".join(parts)


def _group(name: str, lines: tuple[str, ...], shell: bool) -> list[str]:
    """A TACACS+ group: `cmd = first word { permit rest }`; for a shell, the lines as sudoers or a forced command need them."""
    if shell:
        return [f"# {name}: allow these shell lines (sudo or a forced command)", *(line.strip("^$") for line in lines)]
    by_word: dict[str, list[str]] = {}
    for line in lines:
        optional = re.match(r"\^\((no|undo) \)\?", line)
        if optional:
            by_word.setdefault(optional[1], []).append(line[optional.end() : -1])
            line = "^" + line[optional.end() :]
        word, _, rest = line[1:-1].partition(" ")
        for each in word.strip("()").split("|"):
            by_word.setdefault(each, []).append(rest)
    parts = [f"group = {name} {{", "    default service = deny"]
    for word, rests in by_word.items():
        parts.append(f"    cmd = {word} {{")
        parts += [f"        permit {_quoted(rest)}" for rest in dict.fromkeys(rests)]
        parts.append("        deny .*")
        parts.append("    }")
    return [*parts, "}"]


def _quoted(rest: str) -> str:
    return f'"^{rest}$"' if rest else '"^$"'
