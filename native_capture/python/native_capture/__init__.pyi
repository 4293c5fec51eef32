"""Interfaces: docs/architecture.md, sections 1 to 3. JSON is UTF-8 bytes."""

from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address
from os import PathLike
from typing import Literal

from native_capture import rulespace as rulespace

__version__: str

class CaptureError(Exception):
    """One line: code, place, what, cure.

    code: NC-E001 unreadable, NC-E002 no capture, NC-E003 truncated, NC-E004 damaged, NC-E005 interface,
    NC-E006 packed data that fails its checksum, NC-E010 bundle, NC-E011 queues, NC-E012 usage,
    NC-E013 the engine has ended, NC-E014 signatures.
    file: the file or interface, offset: byte in the file.
    """

    code: str
    file: str | None
    offset: int | None

def analyse(
    points: Sequence[tuple[str, str | PathLike[str]]],
    *,
    bundle: bytes | None = None,
    queues: bytes | None = None,
    series: bool = False,
    clock: bool = False,
    top: int | None = None,
    signatures: str | PathLike[str] | None = None,
    records: Literal["ndjson", "columns", "ipfix"] | None = None,
    write: Callable[[bytes], object] | None = None,
    progress: Callable[[int, int], object] | None = None,
    threads: int = 1,
    clock_errors: Sequence[tuple[str, int]] = (),
    unwrap: Mapping[str, str] = {},
    timestamps: Mapping[str, str] = {},
) -> bytes:
    """`policyhub.flows/1` of captures, one per observation point (name, path). top: only that many flows, the largest.

    queues: the queues file of the contract; `sides` in it ({point: [prefix, ..]}) names what lies behind a point standing alone.
    series: queues also give their fill of every millisecond. clock: points give the bytes of each mark and priority in every
    millisecond, and in every tenth of one while a queue is nearly full.

    signatures: a folder of signature files beside those that come with the engine (docs/signatures.md).

    records: hand every flow to `write`, in blocks: whole lines, IPFIX messages, or columns (crates/records/src/block.rs). A flow
    of a point standing alone ends after 300 s without a packet then. progress: called now and then with the packets read and
    the records written. What either raises, or a signal's handler, ends the run and comes out here.

    threads: so many may work at once. They share out the packets of a single file. Of several files, of a pipe, and with queues
    or with hours and peaks of identities, one keeps account of all packets in their order and each other one reads and decodes
    a file for it: more than one for each file and one are of no use then. The result is the same to the byte for every number.

    unwrap: for points whose frames a mirror wrapped, how: "erspan", "vxlan", "geneve" or "gre", with ":ID" for one session,
    VNI or key only. What is inside is the frame then; points[].unwrap counts what was not wrapped (docs/mirrors.md).
    timestamps: for points whose frames bear times, by whom: "erspan", "metamako", "vss", "ixia" or "arista"; points[].times says
    what came of them, and CaptureError is raised when no frame has one.

    Without a bundle nobody is judged by who it is; what the network does (changed marks, RDMA, pauses, queues) is.
    A file damaged in the middle gives a partial report (points[].truncated, points[].damage, points[].error). Raises
    CaptureError when a file cannot be used at all.
    """

def analyse_exports(
    points: Sequence[tuple[str, str | PathLike[str]]],
    *,
    ports: Sequence[int],
    bundle: bytes | None = None,
    top: int | None = None,
    records: Literal["ndjson", "columns", "ipfix"] | None = None,
    write: Callable[[bytes], object] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> bytes:
    """`policyhub.flows/1` of NetFlow v5 and v9, IPFIX and sFlow v5, with null for what they cannot know (`cannot_know`).

    points: (name, a capture of datagrams to these UDP ports, or a file of IPFIX messages). A file that is damaged gives a partial
    report; datagrams that cannot be read are counted (points[].decode_errors) and the first is told. The rest as for `analyse`.
    """

class Exports:
    """Exporters heard live at named points; the sockets are the caller's. Safe to use from any thread."""

    def __init__(self, points: Sequence[str], *, bundle: bytes | None = None) -> None: ...
    def hear(self, point: str, exporter: IPv4Address | IPv6Address, ts_ns: int, datagram: bytes) -> None:
        """One datagram. What cannot be read is counted and told by `poll`."""
    def poll(self) -> bytes:
        """`{"judging", "bundle", "verdicts", "collectors", "given_up", "overflow"}`: what is due, and what came from whom."""
    def set_bundle(self, bundle: bytes) -> str: ...

def inspect(
    points: Sequence[tuple[str, str | PathLike[str]]],
    *,
    marks: Mapping[str, Sequence[int]] = {},
    unwrap: Mapping[str, str] = {},
) -> bytes:
    """`policyhub.inspect/1`: figures of each capture that tell what its mirror does to packets (read by flowguard.domain.mirror).

    marks: per point the times (ns, ascending) of counter readings; frames between two are counted apart. unwrap: as for
    `analyse`; without it ERSPAN is looked into wherever it stands. Raises CaptureError.
    """

def audit_bundle(bundle: bytes) -> str:
    """Check a `flowguard.bundle/1` and return its version. Raises CaptureError (NC-E010)."""

def drop_privileges() -> None:
    """From here on the calling thread and those it starts have no capability and get none (capabilities(7)). Raises OSError."""

def system_clock() -> bytes:
    """`{synchronised, estimated_error_ns, max_error_ns}`: what the kernel knows of the system's clock (adjtimex(2)); or null.

    Errors are those that chronyd or ntpd told; null while the clock is not synchronised, and where its keeper tells none.
    """

def card_clock(interface: str) -> bytes:
    """`{clock, can_stamp, stamps_all}` of an interface's card: the number of its clock (/dev/ptpN) or null, whether it can stamp
    every frame that comes in, whether it does. Changes nothing.
    """

class Live:
    """Captures from interfaces (name, interface) until closed; needs CAP_NET_RAW. Safe to use from any thread.

    snaplen: bytes kept of a frame; ring_mb: MiB of kernel ring per interface; queues: as in `analyse`, for verdicts about queues.
    filter: only frames that this pcap-filter expression describes, compiled by the system libpcap; promiscuous: those for others,
    too. threads: with more than 1 so many read and decode beside the one that accounts; each has a ring of every interface, and
    the kernel gives it the conversations of its share. drop_privileges: once the interfaces are open, the calling thread and
    those it starts have no capability and get none. card_stamps: times are those of the cards' clocks, which must stamp every
    frame already and be set to UTC (docs/sensor.md). unwrap: as for `analyse`; snaplen counts from the inner frame on then,
    filter sees the outer one.
    Without a bundle nobody is judged by who it is.
    """

    def __init__(
        self,
        points: Sequence[tuple[str, str]],
        *,
        bundle: bytes | None = None,
        queues: bytes | None = None,
        snaplen: int = 256,
        ring_mb: int = 32,
        signatures: str | PathLike[str] | None = None,
        ipfix_domain: int | None = None,
        filter: str | None = None,
        promiscuous: bool = True,
        drop_privileges: bool = False,
        threads: int = 1,
        card_stamps: bool = False,
        unwrap: Mapping[str, str] = {},
        timestamps: Mapping[str, str] = {},
    ) -> None: ...
    def poll(self, timeout_ms: int) -> bytes:
        """Body of a `flowguard.batch/1` without sensor, stream, sequence and gaps; waits while there is nothing to tell.

        Raises CaptureError (NC-E013) when the interface is gone or the engine was closed and nothing is left to tell.
        """
    def set_bundle(self, bundle: bytes) -> str:
        """Judge by this bundle from the next packets on; returns its version. Raises CaptureError (NC-E010)."""
    def take_records(self) -> bytes:
        """With `ipfix_domain`: IPFIX messages of at most 1400 bytes that are due. Flows that ended or were silent for 300 s, and
        what came of others since they were told a minute ago. Templates come first and once a minute. After `close` the rest.
        """
    def close(self) -> None:
        """Give the interfaces back; what was finished can still be polled."""

class Replay:
    """As Live, but plays capture files (name, path), one second of packet time in one second."""

    def __init__(
        self,
        points: Sequence[tuple[str, str]],
        *,
        bundle: bytes | None = None,
        queues: bytes | None = None,
        ipfix_domain: int | None = None,
        unwrap: Mapping[str, str] = {},
        timestamps: Mapping[str, str] = {},
    ) -> None: ...
    def poll(self, timeout_ms: int) -> bytes: ...
    def set_bundle(self, bundle: bytes) -> str: ...
    def take_records(self) -> bytes: ...
    def close(self) -> None: ...
