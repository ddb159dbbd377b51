//! A flame graph as one page: drawn by its own script from the data in it.

use crate::escape;
use crate::frame::hash;

const STYLE: &str = include_str!("flame.css");
const SCRIPT: &str = include_str!("flame.js");

/// The page of a flame graph. `title` and `words`, a sentence each, are text; `graph` is the graph's JSON as
/// `docs/schema/flame.schema.json` describes it.
pub fn flame_page(title: &str, words: &[String], graph: &str) -> String {
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    );
    let notes: String =
        words.iter().map(|word| format!("<p class=\"note\">{}</p>\n", escape::text(word))).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"generator\" content=\"emberscope {version}\">\n\
         <title>{title} · Emberscope</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{BODY_TOP}\
         <h1>{title}</h1>\n{BODY}{notes}</main>\n\
         <script type=\"application/json\" id=\"graph\">{graph}</script>\n<script>{SCRIPT}</script>\n\
         </body>\n</html>\n",
        version = env!("CARGO_PKG_VERSION"),
        title = escape::short(title, 200),
        graph = escape::json(graph),
    )
}

const BODY_TOP: &str = "<header class=\"top\"><i class=\"dot\" aria-hidden=\"true\"></i>";

const BODY: &str = "<button id=\"theme\" type=\"button\">light or dark</button></header>
<p id=\"facts\" class=\"facts\"></p>
<div id=\"heat\" class=\"heat\" role=\"img\" aria-label=\"weight over time, a row for each executor\"></div>
<div class=\"bar\" role=\"search\">
<input id=\"search\" type=\"search\" placeholder=\"search frames\" aria-label=\"search frames, a regular expression\" spellcheck=\"false\" autocomplete=\"off\">
<span id=\"found\" class=\"mute\" role=\"status\"></span>
<span class=\"grow\"></span>
<button id=\"up\" type=\"button\" disabled>one frame up</button>
<button id=\"reset\" type=\"button\" disabled>show all</button>
</div>
<p id=\"told\" class=\"told\" role=\"status\">Point at a frame to read it, click it to zoom in.</p>
<div id=\"stage\" class=\"stage\"><canvas id=\"flame\" tabindex=\"0\" role=\"img\" aria-label=\"flame graph; the arrow keys move, Enter zooms, Escape shows all\"></canvas></div>
<ul id=\"legend\" class=\"legend\"></ul>
<p class=\"mute keys\"><kbd>↑</kbd> <kbd>↓</kbd> <kbd>←</kbd> <kbd>→</kbd> move · <kbd>Enter</kbd> zoom · <kbd>Esc</kbd> show all · <kbd>/</kbd> search</p>
<h2>Hottest frames</h2>
<div class=\"scroll\"><table id=\"hot\"></table></div>
<noscript><p class=\"note\">The graph is drawn by a script in this page, and scripts are switched off.</p></noscript>
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_graph_is_markup() {
        let page = flame_page("<b>x", &["a < b".to_owned()], r#"{"title":"</script><img>"}"#);
        assert!(page.contains("&lt;b&gt;x") && page.contains("a &lt; b"));
        assert!(!page.contains("<img>") && !page.contains("<b>x"));
        assert!(!page.contains("http://") && !page.contains("https://"));
    }
}
