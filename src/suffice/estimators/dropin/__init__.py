"""scikit-learn's classifiers, with their parameters and attributes, over our sums and scores."""
