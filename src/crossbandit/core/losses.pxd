cpdef Py_ssize_t first_beyond_box(const double[:, :] rows, const long long[:] arms, const double[:, :] least, const double[:, :] most, double low, double high) noexcept
cpdef Py_ssize_t first_outside(const double[:, :] rows, double low, double high) noexcept
cpdef Py_ssize_t first_loss_outside(const double[:, :] rows, const double[:, :] values, double low, double high, double most) noexcept
