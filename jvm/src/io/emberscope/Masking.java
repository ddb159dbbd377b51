package io.emberscope;

/** Masks texts in JSON by their keys. It is no parser: it knows strings, and which of them are keys. */
final class Masking {
    private static final String MASK = "*********(redacted)";

    /** Whether a text is to be masked; both are as they stand in the JSON, with its escapes. */
    interface Rule {
        boolean isSecret(String key, String value);
    }

    private final String json;
    private final Rule rule;

    Masking(String json, Rule rule) {
        this.json = json;
        this.rule = rule;
    }

    String masked() {
        StringBuilder out = new StringBuilder(json.length());
        String key = null;
        int copied = 0;
        int at = 0;
        while (at < json.length()) {
            char c = json.charAt(at);
            if (c != '"') {
                if (c == ',' || c == '{' || c == '[') {
                    key = null;
                }
                at++;
                continue;
            }
            int end = endOfString(at);
            if (followedByColon(end)) {
                key = json.substring(at + 1, end);
            } else if (key != null && rule.isSecret(key, json.substring(at + 1, end))) {
                out.append(json, copied, at + 1).append(MASK);
                copied = end;
            }
            at = end + 1;
        }
        return out.append(json, copied, json.length()).toString();
    }

    /** Where the string that begins at {@code start} has its closing quote. */
    private int endOfString(int start) {
        int at = start + 1;
        while (at < json.length() && json.charAt(at) != '"') {
            at += json.charAt(at) == '\\' ? 2 : 1;
        }
        return Math.min(at, json.length() - 1);
    }

    private boolean followedByColon(int end) {
        int at = end + 1;
        while (at < json.length() && json.charAt(at) <= ' ') {
            at++;
        }
        return at < json.length() && json.charAt(at) == ':';
    }
}
