"""Plain records: options, statuses, licences, traces."""
