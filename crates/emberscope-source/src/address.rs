//! What an address of Spark's web pages names: the server, the application, and what of it.

use url::Url;

/// The parts of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Below which `api/v1` is: the server, with what a proxy puts before the paths of Spark. Ends with `/`.
    pub root: Url,
    /// Application.
    pub application_id: Option<String>,
    /// Attempt.
    pub attempt_id: Option<String>,
    /// SQL execution, of a page about one.
    pub sql_id: Option<u64>,
    /// Stage and attempt, of a page about one.
    pub stage: Option<(u32, Option<u32>)>,
    /// Whether the path has a shape of Spark's pages or API, so that it cannot be a file. Any other path may be
    /// that of a log, or what a proxy puts before Spark's.
    pub is_known_shape: bool,
}

/// First parts of the paths of Spark's pages, after what the server puts before them.
const PAGES: [&str; 12] = [
    "jobs",
    "stages",
    "storage",
    "environment",
    "executors",
    "SQL",
    "streaming",
    "StreamingQuery",
    "connect",
    "sqlserver",
    "threadDump",
    "index.html",
];

impl Address {
    /// Reads an address as typed; `None` where it is none of HTTP.
    pub fn parse(text: &str) -> Option<Address> {
        let url = Url::parse(text).ok()?;
        matches!(url.scheme(), "http" | "https").then(|| Address::of(&url))
    }

    /// Reads an address. Credentials, query and fragment are not in the roots.
    pub fn of(url: &Url) -> Address {
        let parts: Vec<&str> = url.path().split('/').filter(|part| !part.is_empty()).collect();
        let mut address = Address {
            root: root(url, &[]),
            application_id: None,
            attempt_id: None,
            sql_id: None,
            stage: None,
            is_known_shape: true,
        };
        address.look_at_page(url, &parts);
        let api = parts.windows(2).position(|pair| pair == ["api", "v1"]);
        let history = parts.iter().position(|part| *part == "history");
        let proxy = parts.iter().position(|part| *part == "proxy");
        if let Some(at) = api {
            address.root = root(url, &parts[..at]);
            if parts.get(at + 2) == Some(&"applications") {
                address.name(&parts[at + 3..]);
            }
        } else if let Some(at) = history {
            address.root = root(url, &parts[..at]);
            address.name(&parts[at + 1..]);
        } else if let Some(at) = proxy.filter(|at| parts.get(at + 1).is_some_and(|part| !is_number(part))) {
            // The proxy of a resource manager puts the pages of one application below its id; a number is the port
            // that the proxy of a notebook leads to.
            address.root = root(url, &parts[..at + 2]);
            address.application_id = Some(parts[at + 1].to_owned());
        } else {
            let page = parts.iter().position(|part| PAGES.contains(part));
            let before = &parts[..page.unwrap_or(parts.len())];
            address.is_known_shape = page.is_some() || parts.is_empty();
            address.root = root(url, before);
        }
        address
    }

    /// Takes application and attempt from what follows `history` or `applications`.
    fn name(&mut self, parts: &[&str]) {
        self.application_id = parts.first().map(|id| (*id).to_owned());
        // An attempt is a number, as YARN counts them; anything else is a page or an endpoint.
        self.attempt_id = parts.get(1).filter(|part| is_number(part)).map(|id| (*id).to_owned());
    }

    fn look_at_page(&mut self, url: &Url, parts: &[&str]) {
        let parameter = |name: &str| {
            url.query_pairs().find(|(key, _)| key == name).and_then(|(_, value)| value.parse::<u64>().ok())
        };
        let is_page = |of: &str, page: &str| parts.windows(2).any(|pair| pair == [of, page]);
        if is_page("SQL", "execution") {
            self.sql_id = parameter("id");
        }
        if is_page("stages", "stage") {
            let small = |name: &str| parameter(name).and_then(|value| u32::try_from(value).ok());
            self.stage = small("id").map(|id| (id, small("attempt")));
        }
    }
}

fn is_number(part: &str) -> bool {
    part.bytes().all(|b| b.is_ascii_digit())
}

fn root(url: &Url, before: &[&str]) -> Url {
    let mut root = url.clone();
    root.set_query(None);
    root.set_fragment(None);
    // Both fail only without a host, and then there is nothing to take away.
    _ = root.set_username("");
    _ = root.set_password(None);
    let path = if before.is_empty() { "/".to_owned() } else { format!("/{}/", before.join("/")) };
    root.set_path(&path);
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> (String, Option<String>, Option<String>, Option<u64>) {
        let address = Address::of(&Url::parse(url).unwrap());
        let root = address.root.as_str().to_owned();
        (root, address.application_id, address.attempt_id, address.sql_id)
    }

    #[test]
    fn shapes() {
        let is = |url: &str, root: &str, app: Option<&str>, attempt: Option<&str>, sql: Option<u64>| {
            let expected = (root.to_owned(), app.map(str::to_owned), attempt.map(str::to_owned), sql);
            assert_eq!(read(url), expected, "{url}");
        };
        is("http://h:4040", "http://h:4040/", None, None, None);
        is("http://h:4040/jobs/", "http://h:4040/", None, None, None);
        is("http://h:4040/SQL/execution/?id=94", "http://h:4040/", None, None, Some(94));
        is("http://h:18080/", "http://h:18080/", None, None, None);
        is("http://h:18080/history/app-1/", "http://h:18080/", Some("app-1"), None, None);
        is("http://h:18080/history/app-1/jobs/", "http://h:18080/", Some("app-1"), None, None);
        is(
            "http://h:18080/history/application_1_2/1/SQL/execution/?id=7",
            "http://h:18080/",
            Some("application_1_2"),
            Some("1"),
            Some(7),
        );
        is(
            "https://u:p@gw/gateway/default/sparkhistory/history/application_1_2/1/jobs",
            "https://gw/gateway/default/sparkhistory/",
            Some("application_1_2"),
            Some("1"),
            None,
        );
        is(
            "http://rm:8088/proxy/application_1_2/SQL/execution/?id=3#x",
            "http://rm:8088/proxy/application_1_2/",
            Some("application_1_2"),
            None,
            Some(3),
        );
        is(
            "http://rm:8088/proxy/application_1_2",
            "http://rm:8088/proxy/application_1_2/",
            Some("application_1_2"),
            None,
            None,
        );
        is(
            "http://h:18080/api/v1/applications/app-1/2/stages",
            "http://h:18080/",
            Some("app-1"),
            Some("2"),
            None,
        );
        is("http://hub/user/bob/proxy/4040/jobs/?x=1", "http://hub/user/bob/proxy/4040/", None, None, None);
        is("http://h:4040/foo/bar", "http://h:4040/foo/bar/", None, None, None);
        let stage = Address::of(&Url::parse("http://h:4040/stages/stage/?id=3&attempt=1").unwrap()).stage;
        assert_eq!(stage, Some((3, Some(1))));
    }

    #[test]
    fn a_path_of_no_shape_may_be_a_file() {
        let address = Address::of(&Url::parse("http://h/logs/app-1.zstd").unwrap());
        assert!(!address.is_known_shape);
        assert_eq!(address.root.as_str(), "http://h/logs/app-1.zstd/");
    }
}
