//! Blocks of records into a Python callable; what it raises ends the run.

use nc_engine::{Form, Sink, Stopped};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Messages of a file need not fit a packet.
const FILE_MESSAGE: usize = 32_768;

/// A message that fits a packet of any path (RFC 7011, 10.3.3).
const DATAGRAM: usize = 1_400;

/// IPFIX for a collector.
pub fn datagrams(domain: u32) -> Form {
    Form::Ipfix { domain, limit: DATAGRAM }
}

/// The form by its name at the border.
pub fn form(name: &str) -> Result<Form, String> {
    match name {
        "ndjson" => Ok(Form::Ndjson),
        "columns" => Ok(Form::Columns),
        "ipfix" => Ok(Form::Ipfix { domain: 0, limit: FILE_MESSAGE }),
        other => Err(format!("records {other:?}: no such form. Use ndjson, columns or ipfix")),
    }
}

/// `write(block)`, `progress(packets, records)`; `raised`: what one of them, or a signal's handler, raised.
pub struct PythonSink {
    write: Option<Py<PyAny>>,
    progress: Option<Py<PyAny>>,
    raised: Option<PyErr>,
}

impl PythonSink {
    pub fn new(write: Option<Py<PyAny>>, progress: Option<Py<PyAny>>) -> Self {
        Self { write, progress, raised: None }
    }

    /// Why the run was stopped.
    pub fn reason(self, other: impl FnOnce(&str) -> PyErr) -> PyErr {
        self.raised.unwrap_or_else(|| other("stopped for no reason. Tell the makers"))
    }

    fn keep<T>(&mut self, result: PyResult<T>) -> Result<(), Stopped> {
        result.map(|_| ()).map_err(|error| {
            self.raised = Some(error);
            Stopped
        })
    }
}

impl Sink for PythonSink {
    fn block(&mut self, bytes: &[u8]) -> Result<(), Stopped> {
        let result = Python::attach(|py| match &self.write {
            Some(write) => write.call1(py, (PyBytes::new(py, bytes),)).map(|_| ()),
            None => Ok(()),
        });
        self.keep(result)
    }

    fn tick(&mut self, packets: u64, records: u64) -> Result<(), Stopped> {
        let result = Python::attach(|py| {
            py.check_signals()?;
            match &self.progress {
                Some(progress) => progress.call1(py, (packets, records)).map(|_| ()),
                None => Ok(()),
            }
        });
        self.keep(result)
    }
}
