"""The published book's machinery: what its roles, directives and pages are made of."""
