"""Services of the operating system for all other packages: files, folders, processes, threads."""
