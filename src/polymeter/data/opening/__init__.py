"""Opening a dataset that is on this machine: as files, as a folder of media, or prepared in bounded memory."""
