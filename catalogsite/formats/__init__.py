"""How the admin writes a moment: as the operators' own pages do, in every language."""
