"""The readers' projection: the newest revision of every material, and the public pages."""
