"""The paper, measured: experiments, runs, records, verdicts and pictures. May import `cycle`, never the reverse."""
