"""What figures of error and trust are drawn from: small frozen values, computed from rows."""

from suffice.curves.confusion import Confusion, confusion
from suffice.curves.importance import separation, standardised_coefficients
from suffice.curves.neighbours import NeighbourCurve, neighbour_curve
from suffice.curves.quantiles import Quantiles, distance_quantiles
from suffice.curves.ranking import PrecisionRecallCurve, RocCurve, precision_recall_curve, roc_curve
from suffice.curves.reliability import Reliability, reliability
from suffice.curves.temperature import TemperatureCurve, temperature_curve
from suffice.curves.thresholds import CostCurve, RejectCurve, cost_curve, reject_curve

__all__ = [
    "Confusion",
    "CostCurve",
    "NeighbourCurve",
    "PrecisionRecallCurve",
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
