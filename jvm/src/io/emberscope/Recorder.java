package io.emberscope;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.spark.SparkConf;

/** Something that records what threads do, into files in the form of Java Flight Recorder. Used by one thread. */
interface Recorder {
    /** Begins to record into {@code file}. */
    void start(File file) throws Exception;

    /** Ends {@code file}, which is whole then, and goes on in {@code next}; with null it stops. */
    void end(File file, File next) throws Exception;

    /** For messages. */
    String name();

    /** A task begins on this thread. */
    default void taskStarted() {}

    /** A task ends on this thread. */
    default void taskEnded() {}

    /** The recorders to try, best first, as the configuration wants them. */
    static List<Recorder> of(SparkConf conf) {
        String kind = conf.get("spark.emberscope.profiler.kind", "auto").toLowerCase(Locale.ROOT);
        List<Recorder> recorders = new ArrayList<>();
        if (kind.equals("auto") || kind.equals("async")) {
            recorders.add(new AsyncRecorder(conf));
        }
        if (kind.equals("auto") || kind.equals("jdk")) {
            recorders.add(new JdkRecorder(conf));
        }
        if (kind.equals("auto") || kind.equals("wall")) {
            recorders.add(new WallRecorder(conf));
        }
        if (recorders.isEmpty()) {
            throw new IllegalArgumentException(
                "spark.emberscope.profiler.kind is " + kind + ", not auto, async, jdk or wall");
        }
        return recorders;
    }
}
