package io.emberscope;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.hadoop.util.ShutdownHookManager;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerEvent;

/**
 * Takes the place of PerfGazer's listener: {@code spark.extraListeners=io.emberscope.PerfGazer}, with its properties.
 * The reports are made by {@code emberscope follow}, which this starts; nothing of it can fail the application.
 */
public class PerfGazer extends StreamListener implements AutoCloseable {
    private static final String PROPERTIES = "spark.perfgazer.";
    /** Between Spark's own end (40) and that of Hadoop's file systems (10). */
    private static final int HOOK_PRIORITY = 20;
    /** After an application's end in a JVM that lives on: late events come within this. */
    private static final long QUIET_MS = 2_000;
    private static volatile PerfGazer instance;

    private final Handle handle;

    /** For {@code spark.extraListeners}. */
    public PerfGazer(SparkConf conf) {
        this(conf, Handle.begin(conf, () -> Builder.of(conf), false));
    }

    private PerfGazer(SparkConf conf, Handle handle) {
        super(handle.stream, conf);
        this.handle = handle;
        instance = this;
        try {
            ShutdownHookManager.get().addShutdownHook(this::close, HOOK_PRIORITY);
        } catch (IllegalStateException late) {
            Log.warn("the JVM is going down already", late);
        }
    }

    /** The one that was made last in this JVM. */
    public static Optional<PerfGazer> instance() {
        return Optional.ofNullable(instance);
    }

    /** SQL that makes views of the reports; empty before the application has started. */
    public Set<String> getSnippets() {
        return handle.snippets();
    }

    @Override
    void take(SparkListenerEvent event) {
        if (handle.stream == null) {
            return;
        }
        handle.stream.add(event);
        if (event instanceof SparkListenerApplicationEnd) {
            handle.stream.endWhenQuiet(QUIET_MS);
        }
    }

    /** Brings all reports to their final form. Called again it does nothing. */
    @Override
    public void close() {
        if (handle.stream != null) {
            handle.stream.close();
        }
    }

    /** What a listener runs on. */
    private static final class Handle {
        /** Null where it could not be set up. */
        private EventStream stream;
        private Reports reports;
        private Sink sink;
        private List<String> kinds = Collections.emptyList();
        private Set<String> last = Collections.emptySet();

        static Handle begin(SparkConf conf, Supplier<Builder> wanted, boolean isRunning) {
            Handle handle = new Handle();
            try {
                handle.open(conf, wanted.get(), isRunning);
            } catch (Throwable failure) {
                handle.stream = null;
                Log.warn("no reports are written", failure);
            }
            return handle;
        }

        private void open(SparkConf conf, Builder wanted, boolean isRunning) throws Exception {
            kinds = wanted.kinds();
            if (kinds.isEmpty()) {
                throw new IllegalArgumentException("every kind of report is disabled");
            }
            List<String> more = new ArrayList<>(Arrays.asList("--reports", String.join(",", kinds)));
            long budgetMs = 10_000;
            if (wanted.files != null) {
                more.addAll(wanted.files.arguments());
                budgetMs = wanted.files.closeMs();
                reports = Reports.files(conf, wanted.files.destination(), wanted.files.staging(), more);
            } else {
                sink = wanted.sink(conf);
                reports = Reports.rows(conf, this::give, more);
            }
            stream = new EventStream(
                new EventJson(conf), conf, org.apache.spark.package$.MODULE$.SPARK_VERSION(), reports::open, budgetMs);
            stream.whenWritten(this::written);
            // A listener that is added to a running application does not hear its beginning any more.
            if (isRunning) {
                stream.addBeginning(conf);
            }
            stream.start();
        }

        /** A line of the follower: {@code {"kind":"job","report":{...}}}. */
        private void give(String line) {
            String begin = "{\"kind\":\"";
            String middle = "\",\"report\":";
            int end = line.indexOf(middle);
            if (!line.startsWith(begin) || end < 0) {
                return;
            }
            try {
                sink.write(line.substring(begin.length(), end), line.substring(end + middle.length(), line.length() - 1));
            } catch (Throwable failure) {
                Log.warn("a row was not taken", failure);
            }
        }

        private void written() {
            last = snippets();
            reports.promote();
            if (sink != null) {
                sink.close();
            }
            if (!last.isEmpty()) {
                Log.info("views of the reports:\n" + String.join("\n", last));
            }
        }

        private Set<String> snippets() {
            if (reports == null || !last.isEmpty()) {
                return last;
            }
            if (sink == null) {
                return reports.snippets();
            }
            Set<String> snippets = new LinkedHashSet<>();
            for (String kind : kinds) {
                String snippet = sink.viewSnippet(kind);
                if (snippet != null) {
                    snippets.add(snippet);
                }
            }
            return snippets;
        }
    }

    /** A listener by code: {@code spark.sparkContext().addSparkListener(new PerfGazer.Builder()...build(conf))}. */
    public static final class Builder {
        private boolean sql = true;
        private boolean jobs = true;
        private boolean stages = true;
        private boolean tasks;
        private JsonSink files;
        private Sink sink;
        private String sinkClass = "";

        static Builder of(SparkConf conf) {
            Builder builder = new Builder()
                .sqlEnabled(conf.getBoolean(PROPERTIES + "sql.enabled", true))
                .jobsEnabled(conf.getBoolean(PROPERTIES + "jobs.enabled", true))
                .stagesEnabled(conf.getBoolean(PROPERTIES + "stages.enabled", true))
                .tasksEnabled(conf.getBoolean(PROPERTIES + "tasks.enabled", false));
            builder.sinkClass = conf.get(PROPERTIES + "sink.class", "json").trim();
            if (builder.sinkClass.equals("json") || builder.sinkClass.endsWith(".JsonSink")) {
                builder.files = JsonSink.of(conf);
            }
            return builder;
        }

        public Builder sqlEnabled(boolean enabled) {
            sql = enabled;
            return this;
        }

        public Builder jobsEnabled(boolean enabled) {
            jobs = enabled;
            return this;
        }

        public Builder stagesEnabled(boolean enabled) {
            stages = enabled;
            return this;
        }

        public Builder tasksEnabled(boolean enabled) {
            tasks = enabled;
            return this;
        }

        /** Files. */
        public Builder sink(JsonSink files) {
            this.files = files;
            return this;
        }

        /** A class of the user's own. */
        public Builder sink(Sink sink) {
            this.sink = sink;
            return this;
        }

        /** Starts to work; the listener is to be given to {@code SparkContext.addSparkListener}. */
        public PerfGazer build(SparkConf conf) {
            return new PerfGazer(conf, Handle.begin(conf, () -> this, conf.contains("spark.app.id")));
        }

        private List<String> kinds() {
            List<String> kinds = new ArrayList<>();
            String[] names = {"job", "sql", "stage", "task"};
            boolean[] wanted = {jobs, sql, stages, tasks};
            for (int n = 0; n < names.length; n++) {
                if (wanted[n]) {
                    kinds.add(names[n]);
                }
            }
            return kinds;
        }

        /** The sink that properties name, where the code named none. */
        private Sink sink(SparkConf conf) throws ReflectiveOperationException {
            if (sink != null) {
                return sink;
            }
            if (sinkClass.equals("log") || sinkClass.endsWith(".LogSink")) {
                return new LogSink();
            }
            ClassLoader loader = Thread.currentThread().getContextClassLoader();
            return (Sink) Class.forName(sinkClass, true, loader).getConstructor(SparkConf.class).newInstance(conf);
        }
    }
}
