package io.emberscope;

import java.lang.management.ManagementFactory;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.Locale;
import java.util.function.Function;
import org.apache.spark.SparkConf;

/** The {@code {{placeholders}}} of destinations. */
final class Placeholders {
    private static final String NOW = "perfgazer.now.";

    private Placeholders() {}

    /** Fills those for times in: the start of this JVM, in UTC. */
    static String times(String text) {
        return fill(text, name -> name.startsWith(NOW) ? time(name.substring(NOW.length())) : null);
    }

    /** Fills all in. What is not known stays, so that it can be seen. */
    static String all(String text, SparkConf conf, String applicationId, String runId) {
        return fill(times(text), name -> {
            switch (name) {
                case "perfgazer.runid":
                    return runId;
                case "spark.app.id":
                    return applicationId;
                default:
                    String value = name.startsWith("spark.") ? conf.get(name, "") : "";
                    return value.isEmpty() ? null : escape(value);
            }
        });
    }

    /** Whether no two runs get the same place. */
    static boolean tellRunsApart(String text) {
        return text.contains("{{spark.app.id}}") || text.contains("{{perfgazer.runid}}");
    }

    private static String fill(String text, Function<String, String> value) {
        StringBuilder out = new StringBuilder();
        int at = 0;
        for (int open = text.indexOf("{{"); open >= 0; open = text.indexOf("{{", at)) {
            int close = text.indexOf("}}", open);
            if (close < 0) {
                break;
            }
            String filled = value.apply(text.substring(open + 2, close).trim());
            out.append(text, at, open).append(filled == null ? text.substring(open, close + 2) : filled);
            at = close + 2;
        }
        return out.append(text, at, text.length()).toString();
    }

    private static String time(String part) {
        long started = ManagementFactory.getRuntimeMXBean().getStartTime();
        ZonedDateTime now = Instant.ofEpochMilli(started).atZone(ZoneOffset.UTC);
        switch (part) {
            case "year":
                return String.format(Locale.ROOT, "%04d", now.getYear());
            case "month":
                return two(now.getMonthValue());
            case "day":
                return two(now.getDayOfMonth());
            case "hour":
                return two(now.getHour());
            case "minute":
                return two(now.getMinute());
            case "second":
                return two(now.getSecond());
            default:
                return null;
        }
    }

    private static String two(int number) {
        return String.format(Locale.ROOT, "%02d", number);
    }

    /** A value as one segment of a path. */
    private static String escape(String value) {
        StringBuilder out = new StringBuilder();
        for (char c : value.toCharArray()) {
            if (c < ' ' || "\"#%'*/:=?\\{}[]^".indexOf(c) >= 0) {
                out.append(String.format(Locale.ROOT, "%%%02X", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.toString();
    }
}
