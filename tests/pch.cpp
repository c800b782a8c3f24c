// Holds nothing: the library that owns the tests' precompiled header needs one source.
