"""A mirror session of any real configuration is proposed or refused, never a crash, and what is proposed parses again."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowguard.domain.mirror_load import Load
from flowguard.domain.mirror_proposal import Wish, propose
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.errors import PolicyHubError
from policyhub.domain.mirroring import Copied, MirrorDrafts, MirrorKind
from policyhub.vendorkit.contract import Vendor
from policyhub.vendorkit.ledger import is_sensitive
from policyhub.vendorkit.registry import REGISTRY

pytestmark = pytest.mark.corpus
FOLDERS = {
    "arista_eos": ["arista_eos"], "cisco_ios": ["cisco_ios"], "cisco_iosxr": ["cisco_iosxr"], "cisco_nxos": ["cisco_nxos"],
    "h3c_comware": ["h3c_comware"], "huawei_vrp": ["huawei_vrp", "huawei_cloudengine"], "juniper_junos": ["juniper_junos"],
    "nvidia_cumulus": ["cumulus"], "sonic": ["sonic"],
}  # fmt: skip
FILES, LARGEST = 12, 40_000
END = ("return", "end")
# In the form in which the lines below stand as well; SONiC's are commands of a shell.
CONTINUES = {"juniper_junos": "set ", "nvidia_cumulus": "nv set ", "sonic": "\0"}


def wishes(config: DeviceConfig, drafts: MirrorDrafts) -> list[Wish]:
    source = config.interfaces[0].name
    free = [port.name for port in config.interfaces[1:] if not port.addresses and "." not in port.name]
    to = free[-1] if free else config.interfaces[-1].name
    leaves = {kind: to if kind in drafts.by_port else "" for kind in MirrorKind}
    return [
        Wish(source, destination=to),
        Wish(source, destination=leaves[MirrorKind.RSPAN], vlan=999),
        Wish(source, Copied.RX, leaves[MirrorKind.ERSPAN], collector="198.51.100.7", origin="10.255.0.1"),
    ]


def tried(vendor: Vendor, text: str) -> int:
    """How many of the wishes were proposed."""
    config, count = vendor.parse(text), 0
    if len(config.interfaces) < 2 or vendor.mirror is None:
        return 0
    lines = text.rstrip().split("\n")
    while lines and lines[-1].strip() in END:
        lines.pop()
    for wish in wishes(config, vendor.mirror):
        try:
            found = propose(wish, config, vendor.mirror, text, Load("unknown"))
        except PolicyHubError:
            continue
        count += 1
        if CONTINUES.get(vendor.name, "") in text:
            again = vendor.parse("\n".join([*lines, "!" if "cisco" in vendor.name else "#", *found.commands.lines, ""]))
            left = [row.text for row in again.unparsed if row.line > len(lines) and is_sensitive(row.text)]
            assert left == []
    return count


@pytest.mark.parametrize("platform", FOLDERS)
def test_a_proposal_of_a_real_configuration_parses_again(platform: str, corpus: Path) -> None:
    vendor, count = REGISTRY.get(platform), 0
    for folder in FOLDERS[platform]:
        files = sorted(path for path in (corpus / "configs" / folder).rglob("*") if path.is_file())
        small = [path for path in files if path.stat().st_size < LARGEST]
        for path in small[:: max(1, len(small) // FILES)]:
            count += tried(vendor, path.read_bytes().decode("utf-8", errors="replace"))
    assert count >= 2
