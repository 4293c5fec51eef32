//! The narrow PyO3 border: names, paths and JSON bytes cross it; packets never do.
use pyo3::prelude::*;

mod capture;
mod rulespace;
mod sink;

#[pymodule]
#[pyo3(name = "_engine")]
fn engine(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    capture::add_to(m)?;
    rulespace::add_to(m)
}
