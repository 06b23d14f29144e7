"""Tables of a database, summed where they live or streamed out, through Ibis."""
