//! Tools that read, search and change files, and run commands.
