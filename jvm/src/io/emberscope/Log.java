package io.emberscope;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What the companion says, through Spark's own logging. */
final class Log {
    private static final Logger LOGGER = LoggerFactory.getLogger("io.emberscope");

    private Log() {}

    static void info(String message) {
        LOGGER.info(message);
    }

    static void warn(String message) {
        LOGGER.warn(message);
    }

    /** A failure of ours, in one line: the application goes on, and nobody needs the trace. */
    static void warn(String message, Throwable failure) {
        LOGGER.warn(message + ": " + failure);
        LOGGER.debug(message, failure);
    }
}
