"""What a sensor tells of neighbours, tunnels and bulk: a link whose ends disagree, a job in a tunnel, a ring of hosts."""

from __future__ import annotations

from typing import Any

SECOND = 10**9


def shape(at_ns: int, rows: int = 1) -> dict[str, Any]:
    """rows: of carried flows and of bulk."""
    first, minute = at_ns - 50 * SECOND, at_ns - 60 * SECOND
    carried = {
        "depth": 1, "tunnel": "vxlan", "tunnel_id": 5001, "outer_src": "198.51.100.1", "outer_dst": "198.51.100.2",
        "src": "10.10.8.101", "dst": "10.20.9.9", "sport": 40_000, "dport": 2049, "proto": "tcp", "vlan": None,
        "packets": 812_000, "bytes": 1_170_000_000, "first_ns": first, "last_ns": at_ns,
        "dscp": {"46": {"packets": 812_000, "bytes": 1_170_000_000}},
    }  # fmt: skip
    bulk = {
        "point": "in0", "src": "10.10.8.101", "dst": "10.20.9.9", "identity": "algo", "proto": "tcp", "server_port": 2049,
        "to_server": True, "dscp": 46, "connections": 12, "packets": 812_000, "bytes": 1_170_000_000, "filled": 0.998,
        "first_ns": first, "last_ns": at_ns, "on_share": 0.61, "period_ns": 3_400_000_000,
    }  # fmt: skip
    group = {
        "hosts": [{"address": f"10.10.8.{host}", "identity": "algo"} for host in (101, 102, 103)], "ways": 3,
        "bytes": 3_500_000_000, "together": 0.87, "balance": 0.96, "period_ns": 3_400_000_000, "first_ns": first,
        "last_ns": at_ns, "named": ["gloo"],
    }  # fmt: skip
    behaviour = {"step_ns": 1 << 26, "bulk": [bulk] * rows, "bulk_total": 40 + rows, "groups": [group], "left_out": 0}
    points = [
        {"point": "in0", "lldp": [leaf(at_ns), adapter(at_ns)], "lldp_total": 2, "lldp_overflow": 0,
         "carried": {"rows": [carried] * rows, "total": rows, "overflow": 0}},
        {"point": "out0", "lldp": [], "lldp_total": 0, "lldp_overflow": 0, "carried": {"rows": [], "total": 0, "overflow": 0}},
    ]  # fmt: skip
    return {"at_ns": at_ns, "from_ns": minute, "to_ns": at_ns, "points": points, "behaviour": behaviour}


def neighbour(at_ns: int, system: str, port: str, dcbx: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {
        "chassis": "02:00:00:00:00:01", "port": port, "sender": "02:00:00:00:00:01", "frames": 9, "last_ns": at_ns - SECOND,
        "ttl_s": 120, "system_name": system, "port_description": None, "complete": True, "dcbx": dcbx, **more,
    }  # fmt: skip


def leaf(at_ns: int) -> dict[str, Any]:
    ets = {"willing": False, "classes": 8, "class_of": list(range(8)), "percent": [50, 0, 0, 50, 0, 0, 0, 0], "algorithm": None}
    said = {
        "dialect": "ieee", "pfc": {"enabled": [3], "willing": False, "classes": 8}, "ets": ets, "ets_recommended": None,
        "applications": [{"selector": "dscp", "protocol": 26, "priorities": [3]}], "roce_priority": 3,
    }  # fmt: skip
    return neighbour(at_ns, "leaf-1", "Eth1/7", [said])


def adapter(at_ns: int) -> dict[str, Any]:
    said = {
        "dialect": "ieee", "pfc": {"enabled": [], "willing": True, "classes": 8}, "ets": None, "ets_recommended": None,
        "applications": [], "roce_priority": None,
    }  # fmt: skip
    return neighbour(at_ns, "gpu-9", "mlx5_0", [said], complete=False)
