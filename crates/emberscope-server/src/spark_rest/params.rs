//! Parameters of a request, read as Spark's framework reads them.

use super::refusal::Refusal;

/// The query of an address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params(pub(crate) Vec<(String, String)>);

impl Params {
    /// The first value of a parameter.
    pub(crate) fn first(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether a switch is on; `default` where it is not named.
    pub(crate) fn is_on(&self, name: &str, default: bool) -> bool {
        self.first(name).map_or(default, |value| value.eq_ignore_ascii_case("true"))
    }

    /// A number.
    pub(crate) fn number(&self, name: &str, default: i64) -> Result<i64, Refusal> {
        match self.first(name) {
            None | Some("") => Ok(default),
            Some(text) => text.parse::<i32>().map(i64::from).map_err(|_| Refusal::NoSuchAddress),
        }
    }

    /// All values of a parameter, each one of `words` in any case; empty where it is not named.
    pub(crate) fn words(&self, name: &str, words: &[&'static str]) -> Result<Vec<&'static str>, Refusal> {
        let values = self.0.iter().filter(|(key, _)| key == name);
        values
            .map(|(_, value)| {
                words
                    .iter()
                    .find(|word| word.eq_ignore_ascii_case(value))
                    .copied()
                    .ok_or(Refusal::NoSuchAddress)
            })
            .collect()
    }

    /// Shares of a distribution, by comma.
    pub(crate) fn quantiles(&self, default: &str) -> Result<Vec<f64>, Refusal> {
        let text = self.first("quantiles").unwrap_or(default).trim_end_matches(',');
        text.split(',')
            .map(|part| {
                part.trim().parse().map_err(|_| {
                    Refusal::Bad(format!(
                        "Bad value for parameter \"quantiles\".  Expected a double, got \"{part}\""
                    ))
                })
            })
            .collect()
    }
}

/// A number in the path.
pub(crate) fn id<T: std::str::FromStr>(text: &str) -> Result<T, Refusal> {
    text.parse().map_err(|_| Refusal::NoSuchAddress)
}
