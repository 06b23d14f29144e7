"""scikit-learn's own suite for the classifier of counts."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice import CountNB, Dirichlet

ESTIMATORS = [
    CountNB(),
    CountNB("complement"),
    CountNB("bernoulli"),
    CountNB("poisson"),
    CountNB(alpha="auto", temperature="auto"),
    CountNB("poisson", alpha=0.1, priors=Dirichlet(1.0)),
]
NEGATIVE_ROWS = "the check passes negative rows, although the tags say positive_only"
OTHER_ROWS = "a row repeated and a row of double weight leave other rows to choose by"


def expected_failures(estimator):
    failures = {"check_decision_proba_consistency": NEGATIVE_ROWS}
    if estimator.alpha != "auto":
        return failures
    return failures | {
        "check_sample_weight_equivalence_on_dense_data": OTHER_ROWS,
        "check_sample_weight_equivalence_on_sparse_data": OTHER_ROWS,
    }


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
