"""The parsers on real configurations: no exception, every line accounted for, few lines left over.

Reads POLICYHUB_CORPUS (default ../shared/data beside the repository) and fails when it is missing.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from policyhub.vendorkit.ledger import is_sensitive
from policyhub.vendorkit.registry import REGISTRY

pytestmark = pytest.mark.corpus
ROOT = Path(os.environ.get("POLICYHUB_CORPUS", Path(__file__).resolve().parents[2].parent / "shared" / "data"))
FOLDERS = {
    "arista_eos": ("arista_eos",),
    "aws": ("aws",),
    "azure": ("azure",),
    "checkpoint_gaia": ("checkpoint",),
    "cisco_asa": ("cisco_asa",),
    "cisco_ios": ("cisco_ios",),
    "cisco_iosxr": ("cisco_iosxr",),
    "cisco_nxos": ("cisco_nxos",),
    "fortinet_fortios": ("fortinet_fortios",),
    "gcp": ("gcp",),
    "hillstone_stoneos": ("hillstone",),
    "h3c_comware": ("h3c_comware",),
    "huawei_usg": ("huawei_usg",),
    "huawei_vrp": ("huawei_vrp", "huawei_cloudengine", "huawei_ne"),
    "juniper_junos": ("juniper_junos",),
    "linux_iptables": ("linux_iptables",),
    "linux_nftables": ("linux_nftables",),
    "mikrotik": ("mikrotik",),
    "nvidia_cumulus": ("cumulus",),
    "opnsense_pfsense": ("opnsense_pfsense",),
    "paloalto_panos": ("paloalto_panos",),
    "pf": ("pf",),
    "sonic": ("sonic",),
    "sonicwall": ("sonicwall",),
    "topsec": ("topsec",),
    "vmware_nsx": ("vmware_nsx",),
    "vyos": ("vyos",),
}
# Share of unparsed lines in configurations (outputs of other commands are left out). Most of what is left
# are fixtures in another grammar, damaged lines and commands of scripts. Lower a bound when a parser gets better, never raise it.
MOST_UNPARSED = {
    "arista_eos": 0.0005,
    "aws": 0.0,
    "azure": 0.0,
    "checkpoint_gaia": 0.001,
    "cisco_asa": 0.003,
    "cisco_ios": 0.005,
    "cisco_iosxr": 0.0005,
    "cisco_nxos": 0.002,
    "fortinet_fortios": 0.002,
    "gcp": 0.0,
    "hillstone_stoneos": 0.0,
    "h3c_comware": 0.001,
    "huawei_usg": 0.0,
    "huawei_vrp": 0.002,
    "juniper_junos": 0.003,
    "linux_iptables": 0.0015,
    "linux_nftables": 0.01,
    "mikrotik": 0.0,
    "nvidia_cumulus": 0.0,
    "opnsense_pfsense": 0.0,
    "paloalto_panos": 0.001,
    "pf": 0.0,
    "sonic": 0.0005,
    "sonicwall": 0.15,  # one text; its NAT policies and routes are not read
    "topsec": 0.0,
    "vmware_nsx": 0.0,
    "vyos": 0.002,
}
VECTORS = ".t"  # nftables' own test vectors are no rulesets; tests/corpus/test_nft_vectors.py reads them
OUTPUTS = (
    "azure_configs__VM-vnet",  # other resources than network security groups
    "azure_configs__vm1346",
    "mikrotik/ntc__",  # print outputs
    "pf/fwb__firewall-ipv6",  # shell scripts and rc.conf around pf
    "pf/fwb__firewall100",
    "pf/fwb__firewall106",
    "pf/fwb__firewall107",
    "pf/fwb__firewall109",
    "pf/fwb__firewall34",
    "pf/fwb__firewall51",
    "pf/fwb__firewall8",
    "vyos/hc__vyos_remediation",  # commands that change a configuration
    "vyos/hc__vyos_rollback",
    "show_version",
    "ntc__fortinet_get",
    "show_vtp",
    "show_policy-map",
    "ShowServicePolicy",
    "BUILD.bazel",
    "ios_xr",
    "cisco_ios/genieparser__Show",
    "_display_",
    "nft__files__error",
    "nft__files__chain-rename.2",  # scripts that nft refuses
    "nft__files__symbolic-define",
    "paloalto_panos/ntc__paloalto_panos_show_counter",
    "vsys1-stats",
    "juniper_junos/genieparser__Show",
    "checkpoint/genieparser__Show",
    "checkpoint/ntc__",
    "juniper_junos/ntc__",
    "show_chassis_cluster_status",
    "bf__hosts__",  # interfaces of hosts beside their iptables files
    ".j2",  # templates, test parameters and databases of counters are no SONiC configurations
    "qos_params",
    "strict_priority_params",
    "pg_profile_lookup",
    "sm__vs__dutConfig",
    "su__mock_tables__",
    "counters_db",
    "sonic/genieparser__",
    "sonic_bootchart",
    "acl-remove",
    "cisco_nxos/genieparser__ShowAccessListsSummary",
    "cisco_iosxr/genieparser__ShowPolicyMap",
    "cisco_iosxr/ntc__cisco_xr_show",
    "cisco_nxos/genieparser__ShowInterface",
    "cisco_nxos/genieparser__ShowVlanFilter",
    "cisco_nxos/synth__nxos_show",
    "show_inventory",
    "cisco_nxos/hc__nxos_rem",  # commands that change a configuration
    "cisco_nxos/hc__nxos_rollback",
    "cisco_nxos/annet__nexus_lag_member_remove_0_patch",
    "juniper_junos/bf__testconfigs__pre-defined-junos",  # policies without an action, which no device accepts
)


RECORDED = ("mikrotik/ox__", "opnsense_pfsense/ox__")  # kept with the escapes of the YAML they were recorded in
ESCAPED = re.compile(r"\\(x20|t|\"|\\)")
UNESCAPED = {"x20": " ", "t": "\t", '"': '"', "\\": "\\"}


def files_of(platform: str) -> list[Path]:
    found = [path for folder in FOLDERS[platform] for path in sorted((ROOT / "configs" / folder).iterdir()) if path.is_file()]
    assert found, f"no configurations under {ROOT / 'configs'}: set POLICYHUB_CORPUS"
    return found


def read(path: Path) -> str:
    text = path.read_bytes().decode("utf-8", errors="replace")
    return (
        ESCAPED.sub(lambda found: UNESCAPED[found[1]], text) if f"{path.parent.name}/{path.name}".startswith(RECORDED) else text
    )


def is_output(path: Path) -> bool:
    """Whether it is the output of a command other than the one that shows the configuration."""
    return "show_configuration" not in path.name and any(sign in f"{path.parent.name}/{path.name}" for sign in OUTPUTS)


@pytest.mark.parametrize("platform", FOLDERS)
def test_every_file_is_read_without_an_exception(platform: str) -> None:
    vendor = REGISTRY.get(platform)
    for path in files_of(platform):
        text = read(path)
        config = vendor.parse(text)
        vendor.counters(text, None)
        lines = text.split("\n")
        assert not [n for n in config.ignored if is_sensitive(lines[n - 1])], path


@pytest.mark.parametrize("platform", FOLDERS)
def test_few_lines_of_configurations_are_left_over(platform: str) -> None:
    total, left = 0, Counter[str]()
    for path in files_of(platform):
        if path.suffix != VECTORS and not is_output(path):
            config = REGISTRY.get(platform).parse(read(path))
            total += config.lines
            left.update(unparsed.reason for unparsed in config.unparsed)
    share = left.total() / total
    print(f"\n{platform}: {total} lines, {left.total()} unparsed ({share:.2%}): {dict(left.most_common(6))}")
    assert share <= MOST_UNPARSED[platform]
