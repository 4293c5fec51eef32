//! What exporters said about the form of their records, and what waits until they do.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::bytes::{Bytes, Malformed};
use crate::record::Source;

/// Of one exporter.
const MAX_TEMPLATES: usize = 8_192;
const MAX_FIELDS: usize = 1_024;
/// Data sets that wait for their template: bytes kept of one exporter.
const MAX_WAITING: usize = 1 << 20;
/// Samplers kept of one exporter.
const MAX_SAMPLERS: usize = 4_096;
/// Of a field whose length stands in the record.
pub(super) const VARIABLE: u16 = u16::MAX;

/// `enterprise`: 0 for IANA's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub id: u16,
    pub width: u16,
    pub enterprise: u32,
}

/// `is_options`: of records about the exporter, not about flows.
#[derive(Debug)]
pub(super) struct Template {
    pub fields: Vec<Field>,
    pub is_options: bool,
    /// Fewest bytes of a record.
    pub least: usize,
}

pub(super) type Key = (Source, u32, u16);

/// A data set that came before its template.
pub(super) struct Early {
    pub key: Key,
    pub clock: super::fields::Clock,
    pub at: usize,
    pub bytes: Vec<u8>,
}

#[derive(Default)]
pub(super) struct Cache {
    templates: HashMap<Key, Arc<Template>>,
    early: VecDeque<Early>,
    early_bytes: usize,
    /// Data sets that were forgotten before a template came.
    pub given_up: u64,
    /// One packet in so many, by domain and sampler; of the domain itself under None.
    samplers: HashMap<(u32, Option<u64>), u32>,
    /// When the exporter was started, in ms since 1970, by domain.
    pub boot_ms: HashMap<u32, u64>,
}

impl Cache {
    pub fn get(&self, key: &Key) -> Option<Arc<Template>> {
        self.templates.get(key).cloned()
    }

    pub fn waiting(&self) -> usize {
        self.early.len()
    }

    pub fn sampling(&self, domain: u32, sampler: Option<u64>) -> Option<u32> {
        let own = sampler.and_then(|sampler| self.samplers.get(&(domain, Some(sampler))));
        own.or_else(|| self.samplers.get(&(domain, None))).copied()
    }

    pub fn set_sampling(&mut self, domain: u32, sampler: Option<u64>, one_in: u32) {
        if self.samplers.len() < MAX_SAMPLERS {
            self.samplers.insert((domain, sampler), one_in);
        }
    }

    pub fn set_boot(&mut self, domain: u32, ms: u64) {
        if self.boot_ms.len() < MAX_SAMPLERS {
            self.boot_ms.insert(domain, ms);
        }
    }

    /// A newer template takes the place of the older one (RFC 7011, 8.1 for UDP; RFC 3954, 6).
    fn put(&mut self, key: Key, template: Template) {
        if self.templates.len() < MAX_TEMPLATES || self.templates.contains_key(&key) {
            self.templates.insert(key, Arc::new(template));
        }
    }

    /// RFC 7011, 8.1: number 2 or 3 stands for all templates of the domain.
    fn withdraw(&mut self, key: Key) {
        match key.2 {
            2 | 3 => self.templates.retain(|known, _| (known.0, known.1) != (key.0, key.1)),
            _ => {
                self.templates.remove(&key);
            }
        }
    }

    pub fn keep(&mut self, early: Early) {
        self.early_bytes += early.bytes.len();
        self.early.push_back(early);
        while self.early_bytes > MAX_WAITING {
            let Some(oldest) = self.early.pop_front() else { break };
            self.early_bytes -= oldest.bytes.len();
            self.given_up += 1;
        }
    }

    /// Data sets whose templates are known by now.
    pub fn ready(&mut self) -> Vec<Early> {
        let early = std::mem::take(&mut self.early);
        let (ready, waiting): (Vec<_>, Vec<_>) =
            early.into_iter().partition(|early| self.templates.contains_key(&early.key));
        self.early = waiting.into();
        self.early_bytes = self.early.iter().map(|early| early.bytes.len()).sum();
        ready
    }

    /// A set of templates, or of options templates.
    pub fn read_set(
        &mut self,
        source: Source,
        domain: u32,
        mut set: Bytes<'_>,
        is_options: bool,
    ) -> Result<u32, Malformed> {
        let mut count = 0;
        // What is shorter than a template's head is padding.
        while set.len() >= 4 {
            let id = set.u16("a template's number")?;
            if id < 256 && !(source == Source::Ipfix && (2..4).contains(&id)) {
                if id == 0 {
                    break;
                }
                return Err(set.bad(format!("template number {id} is below 256")));
            }
            let key = (source, domain, id);
            let fields = match (source, is_options) {
                (Source::Netflow9, true) => {
                    // RFC 3954, 6.1: lengths in bytes of the scope fields and the others.
                    let lengths = [set.u16("the scope's length")?, set.u16("the options' length")?];
                    lengths.map(|bytes| usize::from(bytes) / 4).iter().sum()
                }
                _ => usize::from(set.u16("the count of fields")?),
            };
            if fields == 0 {
                self.withdraw(key);
                continue;
            }
            if is_options && source == Source::Ipfix {
                set.u16("the count of scope fields")?;
            }
            let template = read_fields(&mut set, source, fields, is_options)?;
            self.put(key, template);
            count += 1;
        }
        Ok(count)
    }
}

fn read_fields(set: &mut Bytes<'_>, source: Source, count: usize, is_options: bool) -> Result<Template, Malformed> {
    if count > MAX_FIELDS {
        return Err(set.bad(format!("a template of {count} fields")));
    }
    let mut fields = Vec::with_capacity(count);
    for _ in 0..count {
        let (mut id, width) = (set.u16("a field's number")?, set.u16("a field's length")?);
        let mut enterprise = 0;
        if source == Source::Ipfix && id & 0x8000 != 0 {
            id &= 0x7fff;
            enterprise = set.u32("a field's enterprise")?;
        }
        fields.push(Field { id, width, enterprise });
    }
    let least = fields.iter().map(|field| if field.width == VARIABLE { 1 } else { usize::from(field.width) }).sum();
    if least == 0 {
        return Err(set.bad("a template of records without bytes"));
    }
    Ok(Template { fields, is_options, least })
}
