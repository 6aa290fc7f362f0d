"""Getting files from the network: from public addresses, verified, resumed, limited in size."""
