//! The file `.netrc`: names and passwords by machine, as curl and ftp read it.

use crate::secret::Secret;

/// Name and password.
pub(crate) type Login = (String, Secret);

/// The login for `host`; the one of `default` where the file has none. Macros and accounts are passed over.
pub(crate) fn login(text: &str, host: &str) -> Option<Login> {
    let mut words = text.lines().map(|line| line.trim_start()).filter(|line| !line.starts_with('#'));
    let mut words = words.by_ref().flat_map(str::split_whitespace);
    let mut fallback = None;
    let mut entry: Option<Entry> = None;
    while let Some(word) = words.next() {
        match word {
            "machine" | "default" => {
                if let Some(found) = entry.take().and_then(|entry| entry.finish(host, &mut fallback)) {
                    return Some(found);
                }
                let machine = if word == "machine" { words.next().map(str::to_owned) } else { None };
                entry = Some(Entry { machine, ..Entry::default() });
            }
            "login" => set(&mut entry, |entry| &mut entry.login, words.next()),
            "password" => set(&mut entry, |entry| &mut entry.password, words.next()),
            _ => {}
        }
    }
    entry.and_then(|entry| entry.finish(host, &mut fallback)).or(fallback)
}

#[derive(Default)]
struct Entry {
    /// `None` for `default`.
    machine: Option<String>,
    login: Option<String>,
    password: Option<String>,
}

impl Entry {
    fn finish(self, host: &str, fallback: &mut Option<Login>) -> Option<Login> {
        let login = (self.login?, Secret::new(self.password?));
        match self.machine {
            Some(machine) if machine.eq_ignore_ascii_case(host) => Some(login),
            Some(_) => None,
            None => {
                fallback.get_or_insert(login);
                None
            }
        }
    }
}

fn set(entry: &mut Option<Entry>, field: impl Fn(&mut Entry) -> &mut Option<String>, value: Option<&str>) {
    if let (Some(entry), Some(value)) = (entry, value) {
        *field(entry) = Some(value.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_by_machine() {
        let text = "# mine\nmachine a.example login ann password p1\n\
                    machine b.example\n  login bob\n  password p2\ndefault login any password p3\n";
        let of = |host| login(text, host).map(|(name, password)| (name, password.reveal().to_owned()));
        assert_eq!(of("A.example"), Some(("ann".into(), "p1".into())));
        assert_eq!(of("b.example"), Some(("bob".into(), "p2".into())));
        assert_eq!(of("c.example"), Some(("any".into(), "p3".into())));
        assert!(login("machine a login", "a").is_none());
        assert!(login("", "a").is_none());
    }
}
