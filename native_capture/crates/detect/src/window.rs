//! The hours of an identity: `22:00-06:00[@Mon-Fri][ Zone]` (contract, Files). The days are those on which the window begins.

use std::collections::BTreeMap;

const DAY_S: i64 = 86_400;
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
/// 1970-01-01 was a Thursday.
const FIRST_DAY: i64 = 3;

/// By name of the zone: from which second since 1970 on its clocks are how many seconds ahead of UTC, ascending.
pub(crate) type Zones = BTreeMap<String, Vec<(i64, i64)>>;

/// `text`: as the identity says it.
#[derive(Clone, Debug)]
pub struct Window {
    pub text: String,
    from_s: i64,
    to_s: i64,
    days: [bool; 7],
    zone: Vec<(i64, i64)>,
}

impl Window {
    /// None for an empty text: always. Without a zone the hours are UTC.
    pub(crate) fn parse(text: &str, zones: &Zones) -> Result<Option<Self>, String> {
        if text.is_empty() {
            return Ok(None);
        }
        let wrong = || format!("active_window {text:?} is not like 22:00-06:00@Mon-Fri Asia/Shanghai");
        let (hours, zone) = text.split_once(' ').unwrap_or((text, ""));
        let (hours, days) = hours.split_once('@').unwrap_or((hours, "Mon-Sun"));
        let (from, to) = hours.split_once('-').ok_or_else(wrong)?;
        let zone = match zone {
            "" | "UTC" => Vec::new(),
            name => {
                zones.get(name).ok_or_else(|| format!("active_window {text:?}: no zone {name:?} in zones"))?.clone()
            }
        };
        Ok(Some(Self {
            text: text.to_owned(),
            from_s: clock(from).ok_or_else(wrong)?,
            to_s: clock(to).ok_or_else(wrong)?,
            days: week(days).ok_or_else(wrong)?,
            zone,
        }))
    }

    /// Whether `ns` (since 1970, UTC) lies within it. The answer holds for the whole minute.
    pub fn holds(&self, ns: u64) -> bool {
        let utc = (ns / 1_000_000_000) as i64;
        let known = self.zone.iter().rev().find(|(from, _)| *from <= utc).or(self.zone.first());
        let local = utc + known.map_or(0, |(_, ahead)| *ahead);
        let (day, second) = (local.div_euclid(DAY_S), local.rem_euclid(DAY_S));
        let begins = |day: i64| self.days[(day + FIRST_DAY).rem_euclid(7) as usize];
        if self.from_s < self.to_s {
            return begins(day) && (self.from_s..self.to_s).contains(&second);
        }
        begins(day) && second >= self.from_s || begins(day - 1) && second < self.to_s
    }
}

/// Seconds of "hh:mm"; "24:00" is the end of a day.
fn clock(text: &str) -> Option<i64> {
    let (hour, minute) = text.split_once(':')?;
    let (hour, minute): (i64, i64) = (hour.parse().ok()?, minute.parse().ok()?);
    let seconds = hour * 3_600 + minute * 60;
    ((0..60).contains(&minute) && (0..=DAY_S).contains(&seconds)).then_some(seconds)
}

/// Monday first. "Fri-Mon" goes over the end of the week.
fn week(text: &str) -> Option<[bool; 7]> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let place = |name: &str| DAYS.iter().position(|day| *day == name);
    let (first, last) = (place(first)?, place(last)?);
    let mut days = [false; 7];
    let count = (last + 7 - first) % 7;
    (0..=count).for_each(|step| days[(first + step) % 7] = true);
    Some(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nanoseconds of a second in the week that began on Monday 2026-11-30 UTC.
    fn at(day: u64, hour: u64, minute: u64) -> u64 {
        (1_795_996_800 + day * 86_400 + hour * 3_600 + minute * 60) * 1_000_000_000
    }

    fn window(text: &str) -> Window {
        let zones = Zones::from([("Asia/Shanghai".to_owned(), vec![(0, 28_800)])]);
        Window::parse(text, &zones).expect("valid").expect("not empty")
    }

    #[test]
    fn a_window_over_midnight_belongs_to_the_day_on_which_it_begins() {
        let night = window("22:00-06:00@Mon-Fri");
        assert!(night.holds(at(0, 22, 0)) && night.holds(at(1, 5, 59)) && night.holds(at(5, 3, 0)));
        assert!(!night.holds(at(1, 6, 0)) && !night.holds(at(0, 3, 0)) && !night.holds(at(5, 22, 0)));
        let over_the_week = window("08:00-24:00@Sat-Mon");
        assert!(
            over_the_week.holds(at(0, 23, 59)) && !over_the_week.holds(at(1, 9, 0)) && over_the_week.holds(at(6, 9, 0))
        );
    }

    #[test]
    fn hours_are_those_of_the_zone() {
        let day = window("09:00-17:00 Asia/Shanghai");
        assert!(day.holds(at(0, 1, 0)) && !day.holds(at(0, 9, 0)));
    }

    #[test]
    fn clocks_change_when_the_zone_says() {
        let zones = Zones::from([("X".to_owned(), vec![(0, 0), (1_795_996_800 + 86_400, 3_600)])]);
        let window = Window::parse("10:00-11:00 X", &zones).expect("valid").expect("not empty");
        assert!(window.holds(at(0, 10, 30)) && window.holds(at(1, 9, 30)) && !window.holds(at(1, 10, 30)));
    }

    #[test]
    fn what_is_no_window_is_refused() {
        for text in ["22:00", "25:00-06:00", "22:00-06:60", "22:00-06:00@Foo", "22:00-06:00 Nowhere"] {
            assert!(Window::parse(text, &Zones::new()).is_err(), "{text}");
        }
        assert!(Window::parse("", &Zones::new()).is_ok_and(|window| window.is_none()));
    }
}
