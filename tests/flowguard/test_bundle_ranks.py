"""The rank of a mark comes from the maps of every hop, or is not claimed."""

from flowguard.queries.bundles import service_rank
from policyhub.domain.qos import DscpMap


def test_no_map_no_rank():
    assert service_rank([]) == {}


def test_marks_that_all_hops_serve_alike_have_a_rank():
    one = DscpMap("a", ((0, 0), (8, 1), (46, 5)))
    two = DscpMap("b", ((0, 0), (8, 0), (46, 5), (40, 4)))
    assert service_rank([one]) == {0: 0, 8: 1, 46: 5}
    assert service_rank([one, two]) == {0: 0, 46: 5}
