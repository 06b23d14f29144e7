"""Is the model right? Frozen answers, each a table, a picture and a sentence."""

from suffice.diagnostics.box_m_and_wilks import BoxM as BoxM
from suffice.diagnostics.box_m_and_wilks import ClassSeparation as ClassSeparation
from suffice.diagnostics.box_m_and_wilks import box_m as box_m
from suffice.diagnostics.box_m_and_wilks import class_separation as class_separation
from suffice.diagnostics.calibration import Calibration as Calibration
from suffice.diagnostics.calibration import calibration as calibration
from suffice.diagnostics.normality import Normality as Normality
from suffice.diagnostics.normality import normality as normality
from suffice.diagnostics.predictive import PredictiveCheck as PredictiveCheck
from suffice.diagnostics.predictive import predictive_check as predictive_check
