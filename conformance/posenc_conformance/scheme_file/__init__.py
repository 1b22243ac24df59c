"""Read and validate scheme files, and represent their content as plain data."""
