"""The Gaussian classifiers: LDA, QDA, RDA, naive Bayes, and ``GaussianClassifier``."""

from collections.abc import Sequence
from typing import Self

from suffice.core.decision.bayes_decision import CostsLike
from suffice.core.estimation.from_parameters import moments_of_parameters
from suffice.core.estimation.normal_inverse_wishart import NormalInverseWishart
from suffice.core.estimation.priors import Priors
from suffice.core.estimation.settings import (
    CategoricalLike,
    CovarianceWord,
    DivisorWord,
    EstimateWord,
    MissingWord,
    PoolingLike,
    PowerLike,
    Settings,
    ShrinkageLike,
    TemperatureLike,
    TiedLike,
)
from suffice.estimators.gaussian_estimator import GaussianEstimator
from suffice.typing import LabelsLike, RowsLike


class LDA(GaussianEstimator):
    """Linear discriminant analysis: one covariance for all classes, and linear boundaries.

    Parameters
    ----------
    shrinkage : float in [0, 1], "oas", "ledoit-wolf", "auto" or Shrinkage, optional
        Friedman's γ: weight of a diagonal target in each covariance estimate. By default the target
        is the diagonal of that estimate; ``Shrinkage(0.3, target="sphere")`` selects another
        target.
    divisor : {"mle", "unbiased", "averaged"}, default="mle"
        Divisor of the scatter: the sum of weights ("mle"), or that sum minus one for each mean
        ("unbiased", Bessel's correction). "averaged" is the weighted mean of M_k / (w_k − 1) over
        tied classes.
    estimate : {"plug-in", "map", "predictive"} or NormalInverseWishart, default="plug-in"
        "plug-in" uses the estimates as if they were the parameters, "map" uses the most probable
        parameters, and "predictive" integrates the parameters out, which gives each class a
        Student t density. "map" and "predictive" use a weak prior, estimate full covariances and
        ignore ``divisor``. Pass a ``NormalInverseWishart`` for another prior; its ``use`` is "map"
        or "predictive".
    priors : None, "uniform", array, {label: p} or Dirichlet, default=None
        Prior probabilities of the classes. None uses the class frequencies, and
        ``Dirichlet(α)`` smooths them.
    costs : array (K, K), {(action, truth): cost} or Costs, optional
        Cost of predicting ``action`` when ``truth`` holds; by default every error costs 1.
        ``Costs(reject=0.1)`` also lets the classifier reject uncertain rows.
    power : None, "yeo-johnson", "auto" or PowerTransform, default=None
        Transform each feature by a monotone power before the fit. The powers are fitted without
        labels, unless a ``PowerTransform`` gives them. Densities, samples and posteriors describe
        the original rows, while ``means_``, ``covariance_`` and ``coef_`` describe the transformed
        rows.
    temperature : float or "auto", default=1.0
        T in the posteriors softmax(a / T), where a is the log joint density. "auto" takes the T
        with the lowest held-out log-loss.
    categorical : list of columns or Categorical, optional
        Columns whose numbers are codes of categories, by name or position; text columns are
        always categorical. ``Categorical(columns, smoothing=1.0)`` also sets the pseudo-count of
        each level.
    missing : {"marginal", "indicator"}, default="marginal"
        "marginal" integrates missing numbers out. "indicator" replaces each missing number with a
        mean and adds an indicator feature: use it if the absence of a value is informative. A
        missing category is always a separate level.
    n_components : int, optional
        Number of discriminant coordinates that ``transform`` returns. With ``estimate="plug-in"``,
        predictions use only these coordinates. None means all K − 1 coordinates.
    n_jobs : int, optional
        Number of threads for fit and prediction; None and -1 use every core. Results do not
        depend on it.

    Attributes
    ----------
    classes_ : array (K,)
        Class labels, in the order that all other attributes follow.
    moments_ : Moments
        Sums of the training rows. To merge two fits, add their sums.
    settings_ : Settings
        All settings, with the values that were chosen for "auto".
    model_ : Classifier
        The fitted classifier without scikit-learn. It has densities, parameters, information
        criteria and error rates.
    means_, priors_, covariance_ : arrays
        Parameters: (K, d), (K,) and (d, d).
    coef_, intercept_ : arrays
        Linear scores, if all classes share one covariance.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import LDA
    >>> X, y = load_iris(return_X_y=True)
    >>> LDA().fit(X, y).score(X, y)
    0.98
    """

    def __init__(
        self,
        *,
        shrinkage: ShrinkageLike = None,
        divisor: DivisorWord = "mle",
        estimate: EstimateWord | NormalInverseWishart = "plug-in",
        priors: Priors = None,
        costs: CostsLike = None,
        power: PowerLike = None,
        temperature: TemperatureLike = 1.0,
        categorical: CategoricalLike = None,
        missing: MissingWord = "marginal",
        n_components: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.shrinkage = shrinkage
        self.divisor = divisor
        self.estimate = estimate
        self.priors = priors
        self.costs = costs
        self.power = power
        self.temperature = temperature
        self.categorical = categorical
        self.missing = missing
        self.n_components = n_components
        self.n_jobs = n_jobs

    def settings(self) -> Settings:
        """Return all settings as one value; raise if two of them contradict each other."""
        return Settings(
            tied=True,
            shrinkage=self.shrinkage,
            divisor=self.divisor,
            estimate=self.estimate,
            priors=self.priors,
            costs=self.costs,
            power=self.power,
            temperature=self.temperature,
            categorical=self.categorical,
            missing=self.missing,
            n_components=self.n_components,
        )


class QDA(GaussianEstimator):
    """Quadratic discriminant analysis: one covariance per class, and quadratic boundaries.

    Parameters
    ----------
    pooling : float in [0, 1] or "auto", optional
        Friedman's λ: weight of the pooled covariance in each group's estimate.
    shrinkage : float in [0, 1], "oas", "ledoit-wolf", "auto" or Shrinkage, optional
        Friedman's γ: weight of a diagonal target in each covariance estimate. By default the target
        is the diagonal of that estimate; ``Shrinkage(0.3, target="sphere")`` selects another
        target.
    divisor : {"mle", "unbiased", "averaged"}, default="mle"
        Divisor of the scatter: the sum of weights ("mle"), or that sum minus one for each mean
        ("unbiased", Bessel's correction). "averaged" is the weighted mean of M_k / (w_k − 1) over
        tied classes.
    estimate : {"plug-in", "map", "predictive"} or NormalInverseWishart, default="plug-in"
        "plug-in" uses the estimates as if they were the parameters, "map" uses the most probable
        parameters, and "predictive" integrates the parameters out, which gives each class a
        Student t density. "map" and "predictive" use a weak prior, estimate full covariances and
        ignore ``divisor``. Pass a ``NormalInverseWishart`` for another prior; its ``use`` is "map"
        or "predictive".
    priors : None, "uniform", array, {label: p} or Dirichlet, default=None
        Prior probabilities of the classes. None uses the class frequencies, and
        ``Dirichlet(α)`` smooths them.
    costs : array (K, K), {(action, truth): cost} or Costs, optional
        Cost of predicting ``action`` when ``truth`` holds; by default every error costs 1.
        ``Costs(reject=0.1)`` also lets the classifier reject uncertain rows.
    power : None, "yeo-johnson", "auto" or PowerTransform, default=None
        Transform each feature by a monotone power before the fit. The powers are fitted without
        labels, unless a ``PowerTransform`` gives them. Densities, samples and posteriors describe
        the original rows, while ``means_``, ``covariance_`` and ``coef_`` describe the transformed
        rows.
    temperature : float or "auto", default=1.0
        T in the posteriors softmax(a / T), where a is the log joint density. "auto" takes the T
        with the lowest held-out log-loss.
    categorical : list of columns or Categorical, optional
        Columns whose numbers are codes of categories, by name or position; text columns are
        always categorical. ``Categorical(columns, smoothing=1.0)`` also sets the pseudo-count of
        each level.
    missing : {"marginal", "indicator"}, default="marginal"
        "marginal" integrates missing numbers out. "indicator" replaces each missing number with a
        mean and adds an indicator feature: use it if the absence of a value is informative. A
        missing category is always a separate level.
    n_jobs : int, optional
        Number of threads for fit and prediction; None and -1 use every core. Results do not
        depend on it.

    Attributes
    ----------
    classes_ : array (K,)
        Class labels, in the order that all other attributes follow.
    moments_ : Moments
        Sums of the training rows. To merge two fits, add their sums.
    settings_ : Settings
        All settings, with the values that were chosen for "auto".
    model_ : Classifier
        The fitted classifier without scikit-learn. It has densities, parameters, information
        criteria and error rates.
    means_, priors_, covariance_ : arrays
        Parameters: (K, d), (K,) and (K, d, d).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import QDA
    >>> X, y = load_iris(return_X_y=True)
    >>> QDA().fit(X, y).score(X, y)
    0.98
    """

    def __init__(
        self,
        *,
        pooling: PoolingLike = None,
        shrinkage: ShrinkageLike = None,
        divisor: DivisorWord = "mle",
        estimate: EstimateWord | NormalInverseWishart = "plug-in",
        priors: Priors = None,
        costs: CostsLike = None,
        power: PowerLike = None,
        temperature: TemperatureLike = 1.0,
        categorical: CategoricalLike = None,
        missing: MissingWord = "marginal",
        n_jobs: int | None = None,
    ) -> None:
        self.pooling = pooling
        self.shrinkage = shrinkage
        self.divisor = divisor
        self.estimate = estimate
        self.priors = priors
        self.costs = costs
        self.power = power
        self.temperature = temperature
        self.categorical = categorical
        self.missing = missing
        self.n_jobs = n_jobs

    def settings(self) -> Settings:
        """Return all settings as one value; raise if two of them contradict each other."""
        return Settings(
            pooling=self.pooling,
            shrinkage=self.shrinkage,
            divisor=self.divisor,
            estimate=self.estimate,
            priors=self.priors,
            costs=self.costs,
            power=self.power,
            temperature=self.temperature,
            categorical=self.categorical,
            missing=self.missing,
        )


class RDA(GaussianEstimator):
    """Regularised discriminant analysis: a compromise between LDA, QDA and naive Bayes.

    By default, ``fit`` chooses ``pooling`` and ``shrinkage`` by exact cross-validation. Friedman
    (1989), *JASA* 84, 165–175.

    Parameters
    ----------
    pooling : float in [0, 1] or "auto", default="auto"
        Friedman's λ: weight of the pooled covariance in each group's estimate.
    shrinkage : float in [0, 1], "oas", "ledoit-wolf", "auto" or Shrinkage, default="auto"
        Friedman's γ: weight of a diagonal target in each covariance estimate. By default the target
        is the diagonal of that estimate; ``Shrinkage(0.3, target="sphere")`` selects another
        target.
    divisor : {"mle", "unbiased", "averaged"}, default="mle"
        Divisor of the scatter: the sum of weights ("mle"), or that sum minus one for each mean
        ("unbiased", Bessel's correction). "averaged" is the weighted mean of M_k / (w_k − 1) over
        tied classes.
    priors : None, "uniform", array, {label: p} or Dirichlet, default=None
        Prior probabilities of the classes. None uses the class frequencies, and
        ``Dirichlet(α)`` smooths them.
    costs : array (K, K), {(action, truth): cost} or Costs, optional
        Cost of predicting ``action`` when ``truth`` holds; by default every error costs 1.
        ``Costs(reject=0.1)`` also lets the classifier reject uncertain rows.
    power : None, "yeo-johnson", "auto" or PowerTransform, default=None
        Transform each feature by a monotone power before the fit. The powers are fitted without
        labels, unless a ``PowerTransform`` gives them. Densities, samples and posteriors describe
        the original rows, while ``means_``, ``covariance_`` and ``coef_`` describe the transformed
        rows.
    temperature : float or "auto", default=1.0
        T in the posteriors softmax(a / T), where a is the log joint density. "auto" takes the T
        with the lowest held-out log-loss.
    categorical : list of columns or Categorical, optional
        Columns whose numbers are codes of categories, by name or position; text columns are
        always categorical. ``Categorical(columns, smoothing=1.0)`` also sets the pseudo-count of
        each level.
    missing : {"marginal", "indicator"}, default="marginal"
        "marginal" integrates missing numbers out. "indicator" replaces each missing number with a
        mean and adds an indicator feature: use it if the absence of a value is informative. A
        missing category is always a separate level.
    n_jobs : int, optional
        Number of threads for fit and prediction; None and -1 use every core. Results do not
        depend on it.

    Attributes
    ----------
    classes_ : array (K,)
        Class labels, in the order that all other attributes follow.
    moments_ : Moments
        Sums of the training rows. To merge two fits, add their sums.
    settings_ : Settings
        All settings, with the values that were chosen for "auto".
    model_ : Classifier
        The fitted classifier without scikit-learn. It has densities, parameters, information
        criteria and error rates.
    means_, priors_, covariance_ : arrays
        Parameters: (K, d), (K,) and (K, d, d).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import RDA
    >>> X, y = load_iris(return_X_y=True)
    >>> RDA().fit(X, y).score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        *,
        pooling: PoolingLike = "auto",
        shrinkage: ShrinkageLike = "auto",
        divisor: DivisorWord = "mle",
        priors: Priors = None,
        costs: CostsLike = None,
        power: PowerLike = None,
        temperature: TemperatureLike = 1.0,
        categorical: CategoricalLike = None,
        missing: MissingWord = "marginal",
        n_jobs: int | None = None,
    ) -> None:
        self.pooling = pooling
        self.shrinkage = shrinkage
        self.divisor = divisor
        self.priors = priors
        self.costs = costs
        self.power = power
        self.temperature = temperature
        self.categorical = categorical
        self.missing = missing
        self.n_jobs = n_jobs

    def settings(self) -> Settings:
        """Return all settings as one value; raise if two of them contradict each other."""
        return Settings(
            pooling=self.pooling,
            shrinkage=self.shrinkage,
            divisor=self.divisor,
            priors=self.priors,
            costs=self.costs,
            power=self.power,
            temperature=self.temperature,
            categorical=self.categorical,
            missing=self.missing,
        )


class GaussianNB(GaussianEstimator):
    """Gaussian naive Bayes: features are independent given the class.

    Nothing is added to the variances, so results do not depend on the units of the features. A
    categorical feature has, in each class, a probability for each of its levels.

    Parameters
    ----------
    divisor : {"mle", "unbiased", "averaged"}, default="mle"
        Divisor of the scatter: the sum of weights ("mle"), or that sum minus one for each mean
        ("unbiased", Bessel's correction). "averaged" is the weighted mean of M_k / (w_k − 1) over
        tied classes.
    priors : None, "uniform", array, {label: p} or Dirichlet, default=None
        Prior probabilities of the classes. None uses the class frequencies, and
        ``Dirichlet(α)`` smooths them.
    costs : array (K, K), {(action, truth): cost} or Costs, optional
        Cost of predicting ``action`` when ``truth`` holds; by default every error costs 1.
        ``Costs(reject=0.1)`` also lets the classifier reject uncertain rows.
    power : None, "yeo-johnson", "auto" or PowerTransform, default=None
        Transform each feature by a monotone power before the fit. The powers are fitted without
        labels, unless a ``PowerTransform`` gives them. Densities, samples and posteriors describe
        the original rows, while ``means_``, ``covariance_`` and ``coef_`` describe the transformed
        rows.
    temperature : float or "auto", default=1.0
        T in the posteriors softmax(a / T), where a is the log joint density. "auto" takes the T
        with the lowest held-out log-loss.
    categorical : list of columns or Categorical, optional
        Columns whose numbers are codes of categories, by name or position; text columns are
        always categorical. ``Categorical(columns, smoothing=1.0)`` also sets the pseudo-count of
        each level.
    missing : {"marginal", "indicator"}, default="marginal"
        "marginal" integrates missing numbers out. "indicator" replaces each missing number with a
        mean and adds an indicator feature: use it if the absence of a value is informative. A
        missing category is always a separate level.
    n_jobs : int, optional
        Number of threads for fit and prediction; None and -1 use every core. Results do not
        depend on it.

    Attributes
    ----------
    classes_ : array (K,)
        Class labels, in the order that all other attributes follow.
    moments_ : Moments
        Sums of the training rows. To merge two fits, add their sums.
    settings_ : Settings
        All settings, with the values that were chosen for "auto".
    model_ : Classifier
        The fitted classifier without scikit-learn. It has densities, parameters, information
        criteria and error rates.
    means_, priors_, covariance_ : arrays
        Parameters: (K, d), (K,) and (K, d, d).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> GaussianNB().fit(X, y).score(X, y)
    0.96
    """

    _covariance_word = "diagonal"

    def __init__(
        self,
        *,
        divisor: DivisorWord = "mle",
        priors: Priors = None,
        costs: CostsLike = None,
        power: PowerLike = None,
        temperature: TemperatureLike = 1.0,
        categorical: CategoricalLike = None,
        missing: MissingWord = "marginal",
        n_jobs: int | None = None,
    ) -> None:
        self.divisor = divisor
        self.priors = priors
        self.costs = costs
        self.power = power
        self.temperature = temperature
        self.categorical = categorical
        self.missing = missing
        self.n_jobs = n_jobs

    def settings(self) -> Settings:
        """Return all settings as one value; raise if two of them contradict each other."""
        return Settings(
            covariance="diagonal",
            divisor=self.divisor,
            priors=self.priors,
            costs=self.costs,
            power=self.power,
            temperature=self.temperature,
            categorical=self.categorical,
            missing=self.missing,
        )


class GaussianClassifier(GaussianEstimator):
    """The general Bayes classifier with one Gaussian per class.

    Parameters
    ----------
    covariance : {"full", "diagonal", "spherical", "tree"}, an EDDA code or "auto", default="full"
        Structure of each covariance. An EDDA code ("EII" … "VVV") has one letter each for volume,
        shape and orientation. E means that all classes share the property, V that it varies, and I
        that it is that of the identity. A code cannot be combined with ``tied``, ``pooling`` or
        ``shrinkage``. "auto" takes the code with the lowest ``bic``, stored as ``family_``. "tree"
        fits a Chow–Liu tree to the categories of each class, and regresses the numbers on the
        levels of the categories.
    tied : bool or list of lists of labels, default=False
        With True, all classes share one covariance, and boundaries are linear. With False, each
        class has its own covariance, and boundaries are quadratic. With lists of labels, the
        classes of each list share a covariance.
    pooling : float in [0, 1] or "auto", optional
        Friedman's λ: weight of the pooled covariance in each group's estimate.
    shrinkage : float in [0, 1], "oas", "ledoit-wolf", "auto" or Shrinkage, optional
        Friedman's γ: weight of a diagonal target in each covariance estimate. By default the target
        is the diagonal of that estimate; ``Shrinkage(0.3, target="sphere")`` selects another
        target.
    divisor : {"mle", "unbiased", "averaged"}, default="mle"
        Divisor of the scatter: the sum of weights ("mle"), or that sum minus one for each mean
        ("unbiased", Bessel's correction). "averaged" is the weighted mean of M_k / (w_k − 1) over
        tied classes.
    estimate : {"plug-in", "map", "predictive"} or NormalInverseWishart, default="plug-in"
        "plug-in" uses the estimates as if they were the parameters, "map" uses the most probable
        parameters, and "predictive" integrates the parameters out, which gives each class a
        Student t density. "map" and "predictive" use a weak prior, estimate full covariances and
        ignore ``divisor``. Pass a ``NormalInverseWishart`` for another prior; its ``use`` is "map"
        or "predictive".
    priors : None, "uniform", array, {label: p} or Dirichlet, default=None
        Prior probabilities of the classes. None uses the class frequencies, and
        ``Dirichlet(α)`` smooths them.
    costs : array (K, K), {(action, truth): cost} or Costs, optional
        Cost of predicting ``action`` when ``truth`` holds; by default every error costs 1.
        ``Costs(reject=0.1)`` also lets the classifier reject uncertain rows.
    power : None, "yeo-johnson", "auto" or PowerTransform, default=None
        Transform each feature by a monotone power before the fit. The powers are fitted without
        labels, unless a ``PowerTransform`` gives them. Densities, samples and posteriors describe
        the original rows, while ``means_``, ``covariance_`` and ``coef_`` describe the transformed
        rows.
    temperature : float or "auto", default=1.0
        T in the posteriors softmax(a / T), where a is the log joint density. "auto" takes the T
        with the lowest held-out log-loss.
    categorical : list of columns or Categorical, optional
        Columns whose numbers are codes of categories, by name or position; text columns are
        always categorical. ``Categorical(columns, smoothing=1.0)`` also sets the pseudo-count of
        each level.
    missing : {"marginal", "indicator"}, default="marginal"
        "marginal" integrates missing numbers out. "indicator" replaces each missing number with a
        mean and adds an indicator feature: use it if the absence of a value is informative. A
        missing category is always a separate level.
    n_jobs : int, optional
        Number of threads for fit and prediction; None and -1 use every core. Results do not
        depend on it.

    Attributes
    ----------
    classes_ : array (K,)
        Class labels, in the order that all other attributes follow.
    moments_ : Moments
        Sums of the training rows. To merge two fits, add their sums.
    settings_ : Settings
        All settings, with the values that were chosen for "auto".
    model_ : Classifier
        The fitted classifier without scikit-learn. It has densities, parameters, information
        criteria and error rates.
    means_, priors_, covariance_ : arrays
        Parameters: (K, d), (K,), and (d, d) if tied or (K, d, d).
    coef_, intercept_ : arrays
        Linear scores, if all classes share one covariance.
    family_ : str or None
        The EDDA code in use, if ``covariance`` is a code or "auto".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GaussianClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> GaussianClassifier(tied=[[0, 1], [2]]).fit(X, y).score(X, y) > 0.98
    True
    """

    def __init__(
        self,
        covariance: CovarianceWord = "full",
        tied: TiedLike = False,  # noqa: FBT002
        *,
        pooling: PoolingLike = None,
        shrinkage: ShrinkageLike = None,
        divisor: DivisorWord = "mle",
        estimate: EstimateWord | NormalInverseWishart = "plug-in",
        priors: Priors = None,
        costs: CostsLike = None,
        power: PowerLike = None,
        temperature: TemperatureLike = 1.0,
        categorical: CategoricalLike = None,
        missing: MissingWord = "marginal",
        n_jobs: int | None = None,
    ) -> None:
        self.covariance = covariance
        self.tied = tied
        self.pooling = pooling
        self.shrinkage = shrinkage
        self.divisor = divisor
        self.estimate = estimate
        self.priors = priors
        self.costs = costs
        self.power = power
        self.temperature = temperature
        self.categorical = categorical
        self.missing = missing
        self.n_jobs = n_jobs

    def settings(self) -> Settings:
        """Return all settings as one value; raise if two of them contradict each other."""
        return Settings(
            covariance=self.covariance,
            tied=self.tied,
            pooling=self.pooling,
            shrinkage=self.shrinkage,
            divisor=self.divisor,
            estimate=self.estimate,
            priors=self.priors,
            costs=self.costs,
            power=self.power,
            temperature=self.temperature,
            categorical=self.categorical,
            missing=self.missing,
        )

    @property
    def family_(self) -> str | None:
        """The EDDA code in use, if ``covariance`` is a code or "auto"."""
        self.model_  # noqa: B018 (the family is chosen when the model is estimated)
        return self._family

    @classmethod
    def from_parameters(
        cls,
        priors: Priors,
        means: RowsLike,
        covariances: RowsLike,
        classes: LabelsLike | None = None,
        *,
        feature_names: Sequence[str] | None = None,
    ) -> Self:
        """Return the model with these parameters, as if it had been fitted.

        ``model_.true_error`` computes the error of a given classifier under these parameters. If
        rows are added later, the parameters count as one row.

        Parameters
        ----------
        priors : array (K,), {label: p} or "uniform"
        means : array (K, d)
        covariances : array (K, d, d) or (d, d), or a number
            One matrix for each class, one for all classes, or the variance of every feature.
            Classes with equal matrices are tied.
        classes : array (K,), optional
            Labels of the classes, by default 0, 1, ….
        feature_names : sequence of d names, optional

        Examples
        --------
        >>> import suffice as sf
        >>> model = sf.GaussianClassifier.from_parameters([0.7, 0.3], [[2, 1], [1, 2]], 1.0)
        >>> model.model_.bayes_error()
        0.204117 (exact)
        >>> X, y = model.sample(1000, random_state=0)
        >>> model.model_.true_error(sf.QDA().fit(X, y)) > model.model_.bayes_error()
        True
        """
        moments, tied = moments_of_parameters(
            priors, means, covariances, classes, feature_names
        )
        return cls(tied=tied).fit_moments(moments)
