--- The version of this library.
return "0.1.0"
