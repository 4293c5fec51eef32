"""How the engine is opened: on interfaces, on captures that are played back, on what exporters send."""

from __future__ import annotations

import time

import native_capture
from flowguard.sensor.calibrating import CalibratedEngine
from flowguard.sensor.collecting import HearingEngine
from flowguard.sensor.config import SensorConfig
from flowguard.sensor.contract import Engine
from flowguard.sensor.exporting import ExportingEngine
from flowguard.sensor.replay import ShiftedReplay


def open_engine(config: SensorConfig, bundle: bytes | None, *, drop_privileges: bool = False) -> Engine:
    """drop_privileges: this thread and those it starts keep none once the interfaces are open.

    Raises native_capture.CaptureError: no such interface, no permission, unreadable file; BadInput: no queues file, no facts
    of points, a port that is taken.
    """
    facts = config.facts()
    engine = _capture(config, bundle, drop_privileges) if config.points else None
    if engine and facts:
        engine = CalibratedEngine(engine, facts)
    if not config.collect:
        assert engine
        return engine
    return HearingEngine(engine, config.collect, bundle, time.time_ns)


def _capture(config: SensorConfig, bundle: bytes | None, drop_privileges: bool) -> Engine:
    queues = config.queues()
    if config.is_replay:
        files = [(point.name, str(point.file)) for point in config.points]
        return ShiftedReplay(
            native_capture.Replay(files, bundle=bundle, queues=queues, unwrap=config.unwraps, timestamps=config.timestamps),
            time.time_ns,
        )
    interfaces = [(point.name, point.interface) for point in config.points]
    domain = config.ipfix.domain if config.ipfix else None
    live = native_capture.Live(
        interfaces, bundle=bundle, queues=queues, snaplen=config.snaplen, ring_mb=config.ring_mb, ipfix_domain=domain,
        filter=config.filter, promiscuous=config.promiscuous, drop_privileges=drop_privileges, threads=config.threads,
        signatures=config.signatures, card_stamps=config.card_stamps, unwrap=config.unwraps,
        timestamps=config.timestamps,
    )  # fmt: skip
    return ExportingEngine(live, config.ipfix) if config.ipfix else live
