"""A sensor's configuration: every mistake is one line with the key and the cure."""

import pytest

from flowguard.sensor.config import read_config
from policyhub.domain.errors import BadInput

GOOD = """
name = "core-1"
url = "https://hub.example:8443/base/"
token_file = "sensor.token"
batch_interval_ms = 250
[[points]]
name = "in0"
interface = "eth1"
[[points]]
name = "out0"
interface = "eth2"
[spool]
dir = "spool"
max_mb = 5
"""


def read(tmp_path, text):
    path = tmp_path / "sensor.toml"
    path.write_text(text)
    return read_config(path)


def test_a_full_configuration_is_read_with_paths_beside_the_file(tmp_path):
    config = read(tmp_path, GOOD)
    assert (config.name, config.url, config.batch_s) == ("core-1", "https://hub.example:8443/base", 0.25)
    assert config.token_file == tmp_path / "sensor.token"
    assert (config.spool_dir, config.spool_bytes) == (tmp_path / "spool", 5 * 1024 * 1024)
    assert [(point.name, point.interface) for point in config.points] == [("in0", "eth1"), ("out0", "eth2")]
    assert (config.is_replay, config.insecure) == (False, False)


def test_queues_are_read_when_they_are_named(tmp_path):
    assert read(tmp_path, GOOD).queues() is None
    config = read(tmp_path, 'queues = "queues.json"\n' + GOOD)
    with pytest.raises(BadInput, match=r"queues\.json"):
        config.queues()
    (tmp_path / "queues.json").write_text("{}")
    assert config.queues() == b"{}"


def test_time_stamps_are_the_system_s_unless_the_cards_are_asked_for(tmp_path):
    assert not read(tmp_path, GOOD).card_stamps
    assert read(tmp_path, 'timestamps = "hardware"\n' + GOOD).card_stamps
    with pytest.raises(BadInput, match=r"timestamps = 'ptp'. Write system, hardware where"):
        read(tmp_path, 'timestamps = "ptp"\n' + GOOD)


def test_frames_may_bear_the_times_of_a_broker_or_of_the_switch_that_wrapped_them(tmp_path):
    assert read(tmp_path, GOOD).timestamps == {}
    assert read(tmp_path, 'timestamps = "metamako"\n' + GOOD).timestamps == {"in0": "metamako", "out0": "metamako"}
    with pytest.raises(BadInput, match=r'timestamps = "erspan" needs unwrapped points. Write unwrap = "erspan" at every point'):
        read(tmp_path, 'timestamps = "erspan"\n' + GOOD)
    wrapped = GOOD.replace('interface = "eth', 'unwrap = "erspan"\ninterface = "eth')
    assert read(tmp_path, 'timestamps = "erspan"\n' + wrapped).timestamps == {"in0": "erspan", "out0": "erspan"}


def test_a_point_says_how_its_mirror_wraps(tmp_path):
    assert read(tmp_path, GOOD).unwraps == {}
    wrapped = GOOD.replace('interface = "eth2"', 'interface = "eth2"\nunwrap = "erspan:10"')
    assert read(tmp_path, wrapped).unwraps == {"out0": "erspan:10"}
    with pytest.raises(BadInput, match=r"unwrap = 'gtp'. Write erspan, vxlan, geneve or gre"):
        read(tmp_path, wrapped.replace("erspan:10", "gtp"))
    played = GOOD.split("[[points]]")[0] + '[[replay]]\npoint = "p"\nfile = "p.pcap"\nunwrap = "gre"\n[spool]\ndir = "s"\n'
    assert read(tmp_path, played).unwraps == {"p": "gre"}


def test_signatures_of_ones_own_are_a_folder_of_a_sensor_that_captures(tmp_path):
    assert read(tmp_path, GOOD).signatures is None
    text = 'signatures = "own"\n' + GOOD
    with pytest.raises(BadInput, match=r"own' is no folder"):
        read(tmp_path, text)
    (tmp_path / "own").mkdir()
    assert read(tmp_path, text).signatures == tmp_path / "own"
    played = text.replace("[[points]]", "[[replay]]").replace("interface", "file").replace('name = "', 'point = "')
    with pytest.raises(BadInput, match=r"signatures needs \[\[points\]\]"):
        read(tmp_path, played.replace('point = "core-1"', 'name = "core-1"'))


def test_captures_can_stand_for_interfaces(tmp_path):
    text = GOOD.replace("[[points]]", "[[replay]]").replace("interface", "file").replace("name = ", "point = ")
    config = read(tmp_path, text.replace('point = "core-1"', 'name = "core-1"'))
    assert config.is_replay
    assert config.points[0].file == tmp_path / "eth1"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('name = "core-1"', "", "name is missing"),
        ('name = "core-1"', "name = 7", "must be of type str"),
        ('name = "core-1"', 'name = "core 1"', "1 to 64 letters"),
        ("https://hub", "ftp://hub", "Write e.g. https://"),
        ("https://hub", "http://hub", "send the token in clear"),
        ("batch_interval_ms = 250", "batch_interval_ms = 1", "whole number from 50 to 60000"),
        ("batch_interval_ms", "batch_ms", "batch_ms is not a key"),
        ("interface", "iface", "points.iface is not a key"),
        ('"out0"', '"in0"', "each with its own name"),
        ('"eth1"', '"../eth1"', "as `ip link` shows it"),
        ("max_mb = 5", "max_mb = true", "max_mb = True"),
        ("max_mb = 5", "max_mb = 5\nquota = 1", "spool.quota is not a key"),
        ('dir = "spool"', "", "dir is missing"),
        ("[spool]", '[[replay]]\npoint = "x"\nfile = "y"\n[spool]', "either"),
        ("[spool]", "[spool", "not TOML"),
    ],
)
def test_a_mistake_is_one_line(tmp_path, old, new, told):
    with pytest.raises(BadInput) as caught:
        read(tmp_path, GOOD.replace(old, new))
    assert told in str(caught.value)
    assert "sensor.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_plain_http_is_allowed_to_this_machine(tmp_path, host):
    assert read(tmp_path, GOOD.replace("https://hub.example", f"http://{host}")).url.startswith("http://")


def test_plain_http_to_elsewhere_must_be_meant(tmp_path):
    text = GOOD.replace("https://hub", "http://hub").replace("batch", "insecure = true\nbatch", 1)
    assert read(tmp_path, text).insecure


def test_the_token_is_read_anew_and_checked(tmp_path):
    config = read(tmp_path, GOOD)
    with pytest.raises(BadInput, match="no such file"):
        config.token()
    config.token_file.write_text("phb_00ff.secret-_1\n")
    assert config.token() == "phb_00ff.secret-_1"
    config.token_file.write_text("hello\n")
    with pytest.raises(BadInput, match="is not a token"):
        config.token()
