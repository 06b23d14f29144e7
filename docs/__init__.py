"""The pages of the documentation, and how the site is built from them."""
