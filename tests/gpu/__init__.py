"""Programs on CuPy arrays: on the stand-in in every run, on a device where there is one."""
