"""Predictions and data sets in a notebook."""

import suffice as sf
from suffice import datasets


def test_predictions_show_losses_and_the_rows_found_of_each_class():
    posteriors = [[0.8, 0.2], [0.6, 0.4], [0.1, 0.9]]
    rows = sf.plots.Predictions.of(["<no>", "yes", "yes"], posteriors)
    html = rows._repr_html_()
    assert "Predictions of 3 rows" in html
    assert '<td style="text-align:right">0.3333</td>' in html
    one = '<td style="text-align:right">1</td>'
    two = '<td style="text-align:right">2</td>'
    assert f"<td>&lt;no&gt;</td>{one}{one}" in html
    assert f"<td>yes</td>{two}{one}" in html


def test_a_data_set_shows_what_it_holds():
    html = datasets.load("iris")._repr_html_()
    assert '<td>rows</td><td style="text-align:right">150</td>' in html
    assert "The target is species." in html
