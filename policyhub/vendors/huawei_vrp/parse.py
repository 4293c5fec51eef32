"""Interim: keeps every line as unparsed until the grammar stands."""

from policyhub.domain.device_config import DeviceConfig, Unparsed
from policyhub.vendorkit.blocks import read_lines


def parse(text: str) -> DeviceConfig:
    lines = read_lines(text)
    unparsed = tuple(Unparsed(line.number, line.text[:400], "not understood") for line in lines if line.text)
    return DeviceConfig("huawei_vrp", "", len(lines), unparsed=unparsed)
