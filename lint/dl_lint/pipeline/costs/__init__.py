"""What the containers of datasets cost a worker."""
