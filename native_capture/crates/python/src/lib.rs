//! The narrow PyO3 border.
use pyo3::prelude::*;

mod rulespace;

#[pymodule]
fn native_capture(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    rulespace::add_to(m)
}
