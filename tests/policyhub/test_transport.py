"""The session itself, without database: what is told apart, what stays unknown, what never shows."""

import dataclasses
import socket
import threading
import time

import pytest

from flowguard.lab.simulators import IosDevice, Logins, Simulator, VrpDevice
from policyhub.transport import Address, DeviceSession, Login, PublicKey, fetch
from policyhub.transport.errors import (
    AuthenticationFailed,
    ConnectionLost,
    HostKeyChanged,
    HostKeyUnknown,
    LineRejected,
    NotReady,
    TimedOut,
    Unreachable,
)
from policyhub.vendorkit.registry import REGISTRY
from tests.support.devices import CONFIGS
from tests.support.services import wait_until

LOGIN = Login("ops", "Correct-horse-9", enable="Battery-7")
QUICK = dataclasses.replace(REGISTRY.get("cisco_ios").push, read_timeout_s=2.0, slow=())
PATIENT_S = 120.0  # nobody waits for it: what comes within half of it did not wait for the timeout


@pytest.fixture
def sim():
    device = IosDevice(enable_secret="Battery-7")
    device.load(CONFIGS["cisco_ios"])
    with Simulator(device, Logins({"ops": "Correct-horse-9"})) as sim:
        yield sim


def opened(sim, login=LOGIN, manner=QUICK, keys=None, **more):
    keys = [fetch(sim.host, sim.port)] if keys is None else keys
    return DeviceSession.open(Address(sim.host, sim.port), login, manner, keys, **more)


def test_reads_without_echo_and_prompt_and_masks_its_transcript(sim):
    with opened(sim) as session:
        text = session.read("show running-config")
    assert text.startswith("Building configuration...") and text.rstrip().endswith("end") and "sw1#" not in text
    assert "Correct-horse-9" not in session.transcript and "Battery-7" not in session.transcript
    assert "Battery" not in repr(LOGIN) and "horse" not in repr(LOGIN)


def test_no_password_leaves_before_a_key_is_trusted(sim):
    with pytest.raises(HostKeyUnknown):
        opened(sim, keys=[])
    key = fetch(sim.host, sim.port)
    sim.swap_host_key()
    with pytest.raises(HostKeyChanged) as caught:
        opened(sim, keys=[key])
    assert key.fingerprint in str(caught.value) and fetch(sim.host, sim.port).fingerprint in str(caught.value)
    assert sim.logins.attempts == []


def test_key_of_another_kind_is_a_changed_key_too(sim):
    import asyncssh

    other = asyncssh.generate_private_key("ecdsa-sha2-nistp256").export_public_key("openssh").decode().split()
    with pytest.raises(HostKeyChanged):
        opened(sim, keys=[PublicKey(other[0], other[1])])
    assert sim.logins.attempts == []


def test_wrong_password_is_offered_exactly_once(sim):
    with pytest.raises(AuthenticationFailed):
        opened(sim, Login("ops", "wrong-password"))
    assert sim.logins.attempts == [("ops", False)]


def test_wrong_enable_secret_is_an_authentication_failure(sim):
    with pytest.raises(AuthenticationFailed, match="enable"):
        opened(sim, Login("ops", "Correct-horse-9", enable="wrong"))


def test_login_without_privilege_cannot_push_and_nothing_is_sent(sim):
    with opened(sim, Login("ops", "Correct-horse-9")) as session, pytest.raises(NotReady, match="nothing was sent"):
        session.push(["policy-map X"])
    assert session.sent == 0 and "policy-map X" not in sim.device.typed


def test_nobody_listening_and_nobody_speaking_ssh_are_unreachable():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        threading.Thread(target=_greet_as_mail_server, args=(silent,), daemon=True).start()
        with pytest.raises(Unreachable, match="not as SSH"):
            fetch("127.0.0.1", port, timeout_s=30)
    with pytest.raises(Unreachable, match="no connection"):
        fetch("127.0.0.1", port, timeout_s=30)


def _greet_as_mail_server(server):
    talk, _ = server.accept()
    with talk:
        talk.sendall(b"220 mail\r\n" * 200)
        talk.recv(1000)


def test_refused_line_names_command_and_text_and_the_session_still_closes_cleanly(sim):
    with opened(sim) as session, pytest.raises(LineRejected) as caught:
        session.push(["class-map match-all X", " match nonsense", "policy-map Y"])
    assert caught.value.data["command"] == " match nonsense" and "Invalid input" in caught.value.data["text"]
    assert session.sent == 2 and "Y" not in sim.device.policies


def test_cut_connection_is_told_at_once_and_not_after_the_timeout(sim):
    sim.device.faults.drop = "policy-map"
    manner = dataclasses.replace(QUICK, read_timeout_s=PATIENT_S)
    with opened(sim, manner=manner) as session:
        began = time.monotonic()
        with pytest.raises(ConnectionLost):
            session.push(["class-map match-all X", "policy-map Y"])
        assert time.monotonic() - began < PATIENT_S / 2 and session.sent == 2


def test_line_without_an_answer_times_out_and_is_counted_as_sent(sim):
    sim.device.faults.mute = "policy-map"
    with opened(sim) as session, pytest.raises(TimedOut, match="policy-map Y"):
        session.push(["policy-map Y"])
    assert session.sent == 1 and "Y" in sim.device.policies


def test_slow_line_of_the_profile_gets_its_own_patience(sim):
    sim.device.faults.slow, sim.device.faults.slow_s = "policy-map", 2.5
    with opened(sim, manner=dataclasses.replace(QUICK, slow=(("policy-map", PATIENT_S),))) as session:
        session.push(["policy-map Y"])
    assert "Y" in sim.device.policies


def test_whole_session_ends_at_its_limit(sim):
    sim.device.faults.mute = "policy-map"
    manner = dataclasses.replace(QUICK, read_timeout_s=PATIENT_S)
    with opened(sim, manner=manner, wall_s=5.0) as session, pytest.raises(TimedOut, match="time limit"):
        session.push(["policy-map Y"])


def test_log_lines_before_and_after_a_prompt_do_not_end_up_as_answers_or_errors(sim):
    faults = sim.device.faults
    faults.log, faults.again = ".", True
    faults.log_text = "*Nov 30 08:00:00.000: %LINEPROTO-5-UPDOWN: Line protocol on Interface Gi1/0/9, changed state to up"
    with opened(sim) as session:
        session.push(["class-map match-all X", " match dscp ef", "policy-map Y", " class X", "  set dscp default"])
        text = session.read("show running-config")
    assert "  set dscp default" in text.splitlines()


def test_question_of_the_device_is_not_answered(sim):
    sim.device.faults.reject = "policy-map"
    sim.device.refusal = lambda: "This will do something. Continue? [confirm]"
    sim.device.session = lambda real=sim.device.session: _without_prompt(real())
    with opened(sim, manner=dataclasses.replace(QUICK, read_timeout_s=PATIENT_S)) as session:
        began = time.monotonic()
        with pytest.raises(LineRejected, match="nobody answers"):
            session.push(["policy-map Y"])
        assert time.monotonic() - began < PATIENT_S / 2


def _without_prompt(session):
    """After a question the terminal waits: no prompt comes."""
    carry_out = session.type

    def ask(line):
        text = carry_out(line)
        if "[confirm]" in text:
            session.answer_to = lambda answer: ""
        return text

    session.type = ask
    return session


def test_hook_before_each_line_can_stop_the_push(sim):
    class Stop(Exception):
        pass

    def hook(number, line):
        if number == 1:
            raise Stop

    with opened(sim) as session, pytest.raises(Stop):
        session.push(["policy-map Y", "policy-map Z"], before_line=hook)
    assert "Y" in sim.device.policies and "Z" not in sim.device.policies


def test_candidate_is_committed_at_the_end_and_not_after_an_error():
    device = VrpDevice()
    device.load(CONFIGS["huawei_vrp"])
    manner = dataclasses.replace(REGISTRY.get("huawei_vrp").push, read_timeout_s=1.0, slow=(), commit="commit")
    with Simulator(device, Logins({"ops": "Correct-horse-9"})) as sim:
        with opened(sim, manner=manner) as session, pytest.raises(LineRejected):
            session.push(["traffic behavior B", " nonsense"])
        assert "commit" not in device.typed
        with opened(sim, manner=manner) as session, pytest.raises(LineRejected, match="commit"):
            session.push(["traffic behavior C", "quit"])  # this simulated switch has no candidate: it says so
        assert "commit" in device.typed


def test_sessions_are_closed_on_every_way_out(sim):
    for _ in range(3):
        with opened(sim) as session, pytest.raises(LineRejected):
            session.push(["nonsense"])
    wait_until(lambda: not sim.logins.connections, "sessions closed")
