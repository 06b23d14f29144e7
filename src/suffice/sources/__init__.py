"""Where rows live: files, frames, streams and iterables, behind one protocol."""

from suffice.sources.opening import open_source
from suffice.sources.predict import Predicted, predict_stream
from suffice.sources.source import Reading, Source
from suffice.sources.summarize import summarize

__all__ = ["Predicted", "Reading", "Source", "open_source", "predict_stream", "summarize"]
