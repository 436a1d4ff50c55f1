cdef class Uniforms:
    cdef object generator, before, array
    cdef const double[::1] block
    cdef Py_ssize_t used, size
    cdef begin(self)
    cdef draw(self)
    cdef double next(self) except? -1.0
