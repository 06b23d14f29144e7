"""Is the model right? Frozen answers, each a table, a picture and a sentence."""

from suffice.evaluate.diagnostics.box_m_and_wilks import BoxM as BoxM
from suffice.evaluate.diagnostics.box_m_and_wilks import ClassSeparation as ClassSeparation
from suffice.evaluate.diagnostics.box_m_and_wilks import box_m as box_m
from suffice.evaluate.diagnostics.box_m_and_wilks import class_separation as class_separation
from suffice.evaluate.diagnostics.calibration import Calibration as Calibration
from suffice.evaluate.diagnostics.calibration import calibration as calibration
from suffice.evaluate.diagnostics.normality import Normality as Normality
from suffice.evaluate.diagnostics.normality import normality as normality
from suffice.evaluate.diagnostics.predictive import PredictiveCheck as PredictiveCheck
from suffice.evaluate.diagnostics.predictive import predictive_check as predictive_check
