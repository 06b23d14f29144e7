"""What figures of error and trust are drawn from: small frozen values, computed from rows."""

from suffice.evaluation.curves.confusion import Confusion, confusion
from suffice.evaluation.curves.importance import separation, standardised_coefficients
from suffice.evaluation.curves.neighbours import NeighbourCurve, neighbour_curve
from suffice.evaluation.curves.predictions import Predictions
from suffice.evaluation.curves.quantiles import Quantiles, distance_quantiles
from suffice.evaluation.curves.ranking import (
    PrecisionRecallCurve,
    RocCurve,
    precision_recall_curve,
    roc_curve,
)
from suffice.evaluation.curves.reliability import Reliability, reliability
from suffice.evaluation.curves.temperature import TemperatureCurve, temperature_curve
from suffice.evaluation.curves.thresholds import (
    CostCurve,
    RejectCurve,
    cost_curve,
    reject_curve,
)

__all__ = [
    "Confusion",
    "CostCurve",
    "NeighbourCurve",
    "PrecisionRecallCurve",
    "Predictions",
    "Quantiles",
    "RejectCurve",
    "Reliability",
    "RocCurve",
    "TemperatureCurve",
    "confusion",
    "cost_curve",
    "distance_quantiles",
    "neighbour_curve",
    "precision_recall_curve",
    "reject_curve",
    "reliability",
    "roc_curve",
    "separation",
    "standardised_coefficients",
    "temperature_curve",
]
