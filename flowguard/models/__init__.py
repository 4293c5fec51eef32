"""Tables of the traffic side. Rows only."""

from flowguard.models.enforcement import Enforcement, EnforcementEvent, Guard, NeverTouch
from flowguard.models.identities import IdentityEntry
from flowguard.models.sensors import ObservationPoint, Sensor, SensorShape, SensorStream, StreamGap, VerdictBatch
from flowguard.models.verdicts import Observation, Verdict

__all__ = [
    "Enforcement",
    "EnforcementEvent",
    "Guard",
    "IdentityEntry",
    "NeverTouch",
    "Observation",
    "ObservationPoint",
    "Sensor",
    "SensorShape",
    "SensorStream",
    "StreamGap",
    "Verdict",
    "VerdictBatch",
]
