"""The machine below everything else: files, folders, worker processes, threads."""
