"""`gradlab bench`: a file for each benchmark, with its command and its tables."""
