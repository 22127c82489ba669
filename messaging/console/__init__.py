"""The operators' pages in the admin. They show and ask; the rules are in the verbs they call."""
