"""Where rows live: files, frames, streams and iterables, behind one protocol."""
