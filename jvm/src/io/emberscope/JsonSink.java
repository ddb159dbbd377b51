package io.emberscope;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkConf;

/** Settings of reports as files of JSON lines, which the follower writes. */
public final class JsonSink {
    private static final String PROPERTIES = "spark.perfgazer.sink.json.";
    private static final long DEFAULT_CLOSE_MS = 10_000;

    private final String destination;
    private String stagingDir = "/tmp/perfgazer/{{spark.app.id}}/";
    private String format = "ndjson";
    private long writeBatchSize = 100;
    private long fileSizeLimit = 200L << 20;
    private long flushMs = 10_000;
    private long closeMs = DEFAULT_CLOSE_MS;

    /** Files in this place: a path, or a URI of a store that Hadoop knows; both may hold placeholders. */
    public JsonSink(String destination) {
        this.destination = destination;
    }

    static JsonSink of(SparkConf conf) {
        String destination = conf.get(PROPERTIES + "destination", "");
        if (destination.isEmpty()) {
            throw new IllegalArgumentException(PROPERTIES + "destination is not set");
        }
        return new JsonSink(destination)
            .stagingDir(conf.get(PROPERTIES + "stagingDir", "/tmp/perfgazer/{{spark.app.id}}/"))
            .writeBatchSize(conf.getLong(PROPERTIES + "writeBatchSize", 100))
            .fileSizeLimit(conf.getSizeAsBytes(PROPERTIES + "fileSizeLimit", 200L << 20))
            .asyncFlushTimeoutMs(conf.getLong(PROPERTIES + "asyncFlushTimeoutMillisecsKey", 10_000))
            .waitForCloseTimeoutMs(conf.getLong(PROPERTIES + "waitForCloseTimeoutMillisecsKey", DEFAULT_CLOSE_MS))
            .format(conf.get("spark.emberscope.reports.format", "ndjson"));
    }

    /** Where files for a remote destination are written first. */
    public JsonSink stagingDir(String dir) {
        stagingDir = dir;
        return this;
    }

    /** {@code ndjson} or {@code parquet}. */
    public JsonSink format(String name) {
        format = name;
        return this;
    }

    /** Rows after which they are handed to the system. */
    public JsonSink writeBatchSize(long rows) {
        writeBatchSize = rows;
        return this;
    }

    /** Bytes after which a new file begins. */
    public JsonSink fileSizeLimit(long bytes) {
        fileSizeLimit = bytes;
        return this;
    }

    /** Time after which rows are written, however few they are, milliseconds. */
    public JsonSink asyncFlushTimeoutMs(long ms) {
        flushMs = ms;
        return this;
    }

    /** How long closing may take, milliseconds. */
    public JsonSink waitForCloseTimeoutMs(long ms) {
        closeMs = ms;
        return this;
    }

    String destination() {
        return destination;
    }

    String staging() {
        return stagingDir;
    }

    long closeMs() {
        return closeMs;
    }

    List<String> arguments() {
        List<String> arguments = new ArrayList<>();
        String[] pairs = {
            "--format", format, "--batch-size", "" + writeBatchSize, "--file-size-limit", "" + fileSizeLimit,
            "--flush-every", flushMs + "ms", "--close-timeout", closeMs + "ms"};
        java.util.Collections.addAll(arguments, pairs);
        return arguments;
    }
}
