"""The report.html of each study."""
