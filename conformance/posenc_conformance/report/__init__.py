"""Report a run: scorecard, JSON report, known failures, differences between reports."""
