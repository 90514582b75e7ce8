"""Tables by default beside scikit-learn's methods."""
