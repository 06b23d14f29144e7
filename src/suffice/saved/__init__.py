"""Models in files of ours: settings as JSON, what was learnt as arrays; no scikit-learn."""
