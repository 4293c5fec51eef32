//! `native_capture.rulespace`: exact analysis of ordered rules. Pure: values in, values out.

use nc_rulespace::{Action, Answer, Options, Point, Rule, State, ValueSet};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A number up to 128 bits; most are short, and reading those as 64 bits is ten times faster.
struct Number(u128);

impl<'a, 'py> FromPyObject<'a, 'py> for Number {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        object.extract::<u64>().map_or_else(|_| object.extract::<u128>().map(Self), |short| Ok(Self(short.into())))
    }
}

type SetArg = (u8, Vec<(Number, Number)>);
type RuleArg = (String, bool, bool, Vec<Vec<u32>>);
type Reply = (&'static str, Vec<u32>, bool, Option<Vec<(u8, u128)>>);

/// State, causes, whether the default is one of them, and a witness for every rule; see `rulespace.pyi`.
#[pyfunction]
#[pyo3(signature = (axes, rules, *, default_action=None, below=true, witnesses=false, budget=10_000_000))]
fn analyse(
    py: Python<'_>,
    axes: Vec<Vec<SetArg>>,
    rules: Vec<RuleArg>,
    default_action: Option<String>,
    below: bool,
    witnesses: bool,
    budget: u64,
) -> PyResult<Vec<Reply>> {
    let (axes, rules) = (tables(axes), rules_of(rules)?);
    let default_action = default_action.as_deref().map(action_of).transpose()?;
    let options = Options { default_action, below, witnesses, budget };
    let answers = py.detach(|| nc_rulespace::analyse(&axes, &rules, &options));
    answers.map(|all| all.into_iter().map(reply).collect()).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn action_of(name: &str) -> PyResult<Action> {
    match name {
        "permit" => Ok(Action::Permit),
        "deny" => Ok(Action::Deny),
        "continue" => Ok(Action::Continue),
        other => Err(PyValueError::new_err(format!("action {other:?} is none of permit, deny, continue"))),
    }
}

fn reply(answer: Answer) -> Reply {
    let state = match answer.state {
        State::Skipped => "skipped",
        State::Free => "free",
        State::Shadowed => "shadowed",
        State::Redundant => "redundant",
        State::RedundantBelow => "redundant-below",
        State::Undecided => "undecided",
    };
    (state, answer.by, answer.by_default, answer.witness)
}

/// The rules that may decide each point; see `rulespace.pyi`.
#[pyfunction]
fn matching(
    py: Python<'_>,
    axes: Vec<Vec<SetArg>>,
    rules: Vec<RuleArg>,
    points: Vec<Vec<Option<(u8, Number)>>>,
) -> PyResult<Vec<Vec<u32>>> {
    let (axes, rules) = (tables(axes), rules_of(rules)?);
    let value = |part: Option<(u8, Number)>| part.map(|(space, number)| (space, number.0));
    let points: Vec<Point> = points.into_iter().map(|point| point.into_iter().map(value).collect()).collect();
    py.detach(|| nc_rulespace::matching(&axes, &rules, &points))
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

fn tables(axes: Vec<Vec<SetArg>>) -> Vec<Vec<ValueSet>> {
    let set = |(space, intervals): SetArg| ValueSet {
        space,
        intervals: intervals.into_iter().map(|(low, high)| (low.0, high.0)).collect(),
    };
    axes.into_iter().map(|table| table.into_iter().map(set).collect()).collect()
}

fn rules_of(rules: Vec<RuleArg>) -> PyResult<Vec<Rule>> {
    let rule = |(action, enabled, exact, boxes): RuleArg| -> PyResult<Rule> {
        Ok(Rule { action: action_of(&action)?, enabled, exact, boxes })
    };
    rules.into_iter().map(rule).collect()
}

/// Hangs the submodule into its parent and into `sys.modules`, so that `import native_capture.rulespace` works too.
pub fn add_to(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = parent.py();
    let module = PyModule::new(py, "rulespace")?;
    module.add_function(wrap_pyfunction!(analyse, &module)?)?;
    module.add_function(wrap_pyfunction!(matching, &module)?)?;
    parent.add_submodule(&module)?;
    py.import("sys")?.getattr("modules")?.set_item("native_capture.rulespace", &module)
}
