//! `analyse`, `audit_bundle`, `Live` and `Replay`; see `__init__.pyi`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use nc_detect::Bundle;
use nc_engine::{
    card_clock, system_clock, AnalyseError, CardClock, ExportRequest, HearError, Inspected, Listening, Live as Engine,
    LiveError, LiveSettings, Opening, Request, RingSettings,
};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::sink::{datagrams, form, PythonSink};

create_exception!(native_capture, CaptureError, PyException);

const BUNDLE: &str = "NC-E010";
const QUEUES: &str = "NC-E011";
const USAGE: &str = "NC-E012";
const ENDED: &str = "NC-E013";
const SIGNATURES: &str = "NC-E014";

/// One line, with `code`, `file` and `offset` as attributes.
fn raise(py: Python<'_>, code: &str, message: &str, file: Option<&str>, offset: Option<u64>) -> PyErr {
    let error = CaptureError::new_err(format!("{code} {message}"));
    let value = error.value(py);
    let told = value
        .setattr("code", code)
        .and_then(|()| value.setattr("file", file))
        .and_then(|()| value.setattr("offset", offset));
    match told {
        Ok(()) => error,
        Err(other) => other,
    }
}

fn source(py: Python<'_>, error: &nc_engine::SourceError) -> PyErr {
    raise(py, error.code.as_str(), &error.to_string(), Some(&error.place), error.offset)
}

fn live_error(py: Python<'_>, error: LiveError) -> PyErr {
    match error {
        LiveError::Source(error) => source(py, &error),
        LiveError::Signatures(error) => raise(py, SIGNATURES, &error.to_string(), None, None),
        LiveError::Queues(what) => raise(py, QUEUES, &what, None, None),
        LiveError::Usage(what) => raise(py, USAGE, &what, None, None),
        LiveError::Ended(what) => raise(py, ENDED, &what, None, None),
    }
}

fn parse(py: Python<'_>, bundle: Option<&[u8]>) -> PyResult<Option<Bundle>> {
    let parsed = bundle.map(Bundle::parse).transpose();
    parsed.map_err(|error| raise(py, BUNDLE, &error.to_string(), None, None))
}

/// Points by name, and what is written of each.
type Texts = HashMap<String, String>;

/// What is done with the frames of some points.
fn openings(py: Python<'_>, unwrap: Texts, timestamps: Texts) -> PyResult<Vec<(String, Opening)>> {
    let mut found: HashMap<String, Opening> = HashMap::new();
    let wrong = |what: String| raise(py, USAGE, &what, None, None);
    for (name, text) in unwrap {
        found.entry(name).or_default().unwrap = Some(text.parse().map_err(wrong)?);
    }
    for (name, text) in timestamps {
        found.entry(name).or_default().times = Some(text.parse().map_err(wrong)?);
    }
    Ok(found.into_iter().collect())
}

#[pyfunction]
#[pyo3(signature = (points, *, bundle=None, queues=None, series=false, clock=false, top=None, signatures=None, records=None, write=None, progress=None, threads=1, clock_errors=Vec::new(), unwrap=HashMap::new(), timestamps=HashMap::new()))]
#[allow(clippy::too_many_arguments, reason = "the arguments of the Python function")]
fn analyse<'py>(
    py: Python<'py>,
    points: Vec<(String, PathBuf)>,
    bundle: Option<&[u8]>,
    queues: Option<&[u8]>,
    series: bool,
    clock: bool,
    top: Option<usize>,
    signatures: Option<PathBuf>,
    records: Option<&str>,
    write: Option<Py<PyAny>>,
    progress: Option<Py<PyAny>>,
    threads: usize,
    clock_errors: Vec<(String, u64)>,
    unwrap: Texts,
    timestamps: Texts,
) -> PyResult<Bound<'py, PyBytes>> {
    let bundle = parse(py, bundle)?;
    let queues = queues.map(<[u8]>::to_vec);
    let records = records.map(form).transpose().map_err(|what| raise(py, USAGE, &what, None, None))?;
    let mut sink = PythonSink::new(write, progress);
    let openings = openings(py, unwrap, timestamps)?;
    let request =
        Request { points, bundle, queues, clock_errors, openings, series, clock, top, signatures, records, threads };
    let report = py.detach(|| nc_engine::analyse(request, &mut sink));
    match report {
        Ok(json) => Ok(PyBytes::new(py, &json)),
        Err(AnalyseError::Source(error)) => Err(source(py, &error)),
        Err(AnalyseError::Queues(what)) => Err(raise(py, QUEUES, &what, None, None)),
        Err(AnalyseError::Signatures(error)) => Err(raise(py, SIGNATURES, &error.to_string(), None, None)),
        Err(AnalyseError::Usage(what)) => Err(raise(py, USAGE, &what, None, None)),
        Err(AnalyseError::Stopped) => Err(sink.reason(|what| raise(py, USAGE, what, None, None))),
    }
}

#[pyfunction]
#[pyo3(signature = (points, *, marks=HashMap::new(), unwrap=HashMap::new()))]
fn inspect<'py>(
    py: Python<'py>,
    points: Vec<(String, PathBuf)>,
    mut marks: HashMap<String, Vec<u64>>,
    unwrap: Texts,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut openings: HashMap<String, Opening> = openings(py, unwrap, HashMap::new())?.into_iter().collect();
    let captures: Vec<Inspected> = points
        .into_iter()
        .map(|(name, path)| {
            let (marks, unwrap) =
                (marks.remove(&name).unwrap_or_default(), openings.remove(&name).and_then(|opening| opening.unwrap));
            Inspected { name, path, marks, unwrap }
        })
        .collect();
    let report = py.detach(|| nc_engine::inspect(&captures));
    report.map(|json| PyBytes::new(py, &json)).map_err(|error| source(py, &error))
}

#[pyfunction]
fn audit_bundle(py: Python<'_>, bundle: &[u8]) -> PyResult<String> {
    match Bundle::parse(bundle) {
        Ok(bundle) => Ok(bundle.version),
        Err(error) => Err(raise(py, BUNDLE, &error.to_string(), None, None)),
    }
}

fn poll<'py>(py: Python<'py>, engine: &Engine, timeout_ms: u64) -> PyResult<Bound<'py, PyBytes>> {
    let body = py.detach(|| engine.poll(Duration::from_millis(timeout_ms)));
    body.map(|json| PyBytes::new(py, &json)).map_err(|error| live_error(py, error))
}

fn set_bundle(py: Python<'_>, engine: &Engine, bundle: &[u8]) -> PyResult<String> {
    let parsed = Bundle::parse(bundle).map_err(|error| raise(py, BUNDLE, &error.to_string(), None, None))?;
    Ok(engine.set_bundle(parsed))
}

#[pyclass(frozen, module = "native_capture")]
struct Live(Engine);

#[pymethods]
impl Live {
    #[new]
    #[pyo3(signature = (points, *, bundle=None, queues=None, snaplen=256, ring_mb=32, signatures=None, ipfix_domain=None, filter=None, promiscuous=true, drop_privileges=false, threads=1, card_stamps=false, unwrap=HashMap::new(), timestamps=HashMap::new()))]
    #[allow(clippy::too_many_arguments, reason = "the arguments of the Python class")]
    fn new(
        py: Python<'_>,
        points: Vec<(String, String)>,
        bundle: Option<&[u8]>,
        queues: Option<&[u8]>,
        snaplen: u32,
        ring_mb: u32,
        signatures: Option<PathBuf>,
        ipfix_domain: Option<u32>,
        filter: Option<String>,
        promiscuous: bool,
        drop_privileges: bool,
        threads: usize,
        card_stamps: bool,
        unwrap: Texts,
        timestamps: Texts,
    ) -> PyResult<Self> {
        let bundle = parse(py, bundle)?;
        let ring = RingSettings { snaplen, ring_mb, filter, promiscuous, card_stamps };
        let records = ipfix_domain.map(datagrams);
        let queues = queues.map(<[u8]>::to_vec);
        let openings = openings(py, unwrap, timestamps)?;
        let settings = LiveSettings { points, openings, ring, threads, drop_privileges, queues, signatures, records };
        py.detach(|| Engine::open(&settings, bundle)).map(Self).map_err(|error| live_error(py, error))
    }

    fn poll<'py>(&self, py: Python<'py>, timeout_ms: u64) -> PyResult<Bound<'py, PyBytes>> {
        poll(py, &self.0, timeout_ms)
    }

    fn set_bundle(&self, py: Python<'_>, bundle: &[u8]) -> PyResult<String> {
        set_bundle(py, &self.0, bundle)
    }

    fn take_records<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.take_records())
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }
}

#[pyclass(frozen, module = "native_capture")]
struct Replay(Engine);

#[pymethods]
impl Replay {
    #[new]
    #[pyo3(signature = (points, *, bundle=None, queues=None, ipfix_domain=None, unwrap=HashMap::new(), timestamps=HashMap::new()))]
    fn new(
        py: Python<'_>,
        points: Vec<(String, String)>,
        bundle: Option<&[u8]>,
        queues: Option<&[u8]>,
        ipfix_domain: Option<u32>,
        unwrap: Texts,
        timestamps: Texts,
    ) -> PyResult<Self> {
        let (bundle, openings) = (parse(py, bundle)?, openings(py, unwrap, timestamps)?);
        py.detach(|| Engine::replay(&points, &openings, bundle, queues, ipfix_domain.map(datagrams)))
            .map(Self)
            .map_err(|error| live_error(py, error))
    }

    fn poll<'py>(&self, py: Python<'py>, timeout_ms: u64) -> PyResult<Bound<'py, PyBytes>> {
        poll(py, &self.0, timeout_ms)
    }

    fn set_bundle(&self, py: Python<'_>, bundle: &[u8]) -> PyResult<String> {
        set_bundle(py, &self.0, bundle)
    }

    fn take_records<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.take_records())
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }
}

#[pyfunction]
#[pyo3(signature = (points, *, ports, bundle=None, top=None, records=None, write=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "the arguments of the Python function")]
fn analyse_exports<'py>(
    py: Python<'py>,
    points: Vec<(String, PathBuf)>,
    ports: Vec<u16>,
    bundle: Option<&[u8]>,
    top: Option<usize>,
    records: Option<&str>,
    write: Option<Py<PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let bundle = parse(py, bundle)?;
    let records = records.map(form).transpose().map_err(|what| raise(py, USAGE, &what, None, None))?;
    let mut sink = PythonSink::new(write, progress);
    let request = ExportRequest { points, ports, bundle, top, records };
    match py.detach(|| nc_engine::analyse_exports(request, &mut sink)) {
        Ok(json) => Ok(PyBytes::new(py, &json)),
        Err(AnalyseError::Source(error)) => Err(source(py, &error)),
        Err(AnalyseError::Stopped) => Err(sink.reason(|what| raise(py, USAGE, what, None, None))),
        Err(other) => Err(raise(py, USAGE, &other.to_string(), None, None)),
    }
}

#[pyclass(frozen, module = "native_capture")]
struct Exports(Listening);

#[pymethods]
impl Exports {
    #[new]
    #[pyo3(signature = (points, *, bundle=None))]
    fn new(py: Python<'_>, points: Vec<String>, bundle: Option<&[u8]>) -> PyResult<Self> {
        Ok(Self(Listening::new(&points, parse(py, bundle)?)))
    }

    fn hear(
        &self,
        py: Python<'_>,
        point: &str,
        exporter: std::net::IpAddr,
        ts_ns: u64,
        datagram: &[u8],
    ) -> PyResult<()> {
        let heard = self.0.hear(point, exporter, ts_ns, datagram);
        heard.map_err(|HearError(what)| raise(py, USAGE, &what, None, None))
    }

    fn poll<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.poll())
    }

    fn set_bundle(&self, py: Python<'_>, bundle: &[u8]) -> PyResult<String> {
        let parsed = Bundle::parse(bundle).map_err(|error| raise(py, BUNDLE, &error.to_string(), None, None))?;
        Ok(self.0.set_bundle(parsed))
    }
}

#[pyfunction]
fn drop_privileges() -> PyResult<()> {
    Ok(nc_engine::drop_privileges()?)
}

#[pyfunction(name = "system_clock")]
fn told_system_clock(py: Python<'_>) -> Bound<'_, PyBytes> {
    let told = system_clock().map(|clock| {
        serde_json::json!({
            "synchronised": clock.synchronised,
            "estimated_error_ns": clock.estimated_error_ns,
            "max_error_ns": clock.max_error_ns,
        })
    });
    PyBytes::new(py, serde_json::json!(told).to_string().as_bytes())
}

#[pyfunction(name = "card_clock")]
fn told_card_clock<'py>(py: Python<'py>, interface: &str) -> Bound<'py, PyBytes> {
    let CardClock { clock, can_stamp, stamps_all } = card_clock(interface);
    let told = serde_json::json!({ "clock": clock, "can_stamp": can_stamp, "stamps_all": stamps_all });
    PyBytes::new(py, told.to_string().as_bytes())
}

/// Names into the module.
pub fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("CaptureError", m.py().get_type::<CaptureError>())?;
    m.add_function(wrap_pyfunction!(analyse, m)?)?;
    m.add_function(wrap_pyfunction!(analyse_exports, m)?)?;
    m.add_function(wrap_pyfunction!(inspect, m)?)?;
    m.add_function(wrap_pyfunction!(audit_bundle, m)?)?;
    m.add_function(wrap_pyfunction!(drop_privileges, m)?)?;
    m.add_function(wrap_pyfunction!(told_system_clock, m)?)?;
    m.add_function(wrap_pyfunction!(told_card_clock, m)?)?;
    m.add_class::<Exports>()?;
    m.add_class::<Live>()?;
    m.add_class::<Replay>()
}
