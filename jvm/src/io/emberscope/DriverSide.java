package io.emberscope;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.PluginContext;

/** The driver's part of the plugin. */
final class DriverSide implements DriverPlugin {
    /** The queue of our listener: its own, so that it holds up no other. */
    private static final String QUEUE = "emberscope";
    private static final String STREAM = "spark.emberscope.stream.";
    private static final String REPORTS = "spark.emberscope.reports.";

    private SparkContext spark;
    private EventStream stream;
    private Profiling profiling;

    @Override
    public Map<String, String> init(SparkContext spark, PluginContext context) {
        this.spark = spark;
        SparkConf conf = context.conf();
        Map<String, String> told = new HashMap<>();
        try {
            told.put(ExecutorSide.IS_LOCAL, String.valueOf(spark.isLocal()));
            if (conf.getBoolean(STREAM + "enabled", false)) {
                stream = stream(conf, spark.version());
                spark.listenerBus().addToQueue(new PacedListener(stream, conf), QUEUE);
                stream.start();
            }
        } catch (Throwable failure) {
            Log.warn("the event stream is off", failure);
        }
        try {
            profiling = Profiling.ofDriver(conf);
        } catch (Throwable failure) {
            Log.warn("the driver is not recorded", failure);
        }
        return told;
    }

    @Override
    public void registerMetrics(String applicationId, PluginContext context) {
        if (profiling != null) {
            profiling.knowApplication(applicationId);
        }
    }

    @Override
    public Object receive(Object message) {
        try {
            TaskThreads.post(message, spark.listenerBus());
        } catch (Throwable failure) {
            Log.warn("what an executor told of its threads is lost", failure);
        }
        return null;
    }

    @Override
    public void shutdown() {
        if (profiling != null) {
            profiling.close();
        }
        if (stream != null) {
            QueueEnd.await(spark.listenerBus(), stream.closeBudgetMs());
            stream.close();
        }
    }

    private static EventStream stream(SparkConf conf, String version) throws ReflectiveOperationException {
        long budgetMs = conf.getTimeAsMs(STREAM + "closeTimeout", "10s");
        String to = conf.get(STREAM + "to", "follow");
        Reports[] reports = new Reports[1];
        EventStream.Opening opening;
        if (to.equals("follow")) {
            opening = () -> {
                reports[0] = reports(conf);
                return reports[0].open();
            };
        } else if (to.equals("file")) {
            opening = () -> Outlet.file(EventStream.file(conf), EventStream.mostBytes(conf, Long.MAX_VALUE + "b"));
        } else {
            opening = () -> {
                String[] place = to.replaceFirst("^socket:(//)?", "").split(":");
                if (place.length != 2) {
                    throw new java.io.IOException(STREAM + "to is " + to + ", not follow, file or socket:HOST:PORT");
                }
                return Outlet.socket(place[0], Integer.parseInt(place[1]));
            };
        }
        EventStream stream = new EventStream(new EventJson(conf), conf, version, opening, budgetMs);
        stream.whenWritten(() -> {
            if (reports[0] != null) {
                reports[0].promote();
            }
        });
        return stream;
    }

    private static Reports reports(SparkConf conf) throws java.io.IOException {
        String destination = conf.get(REPORTS + "destination", "");
        if (destination.isEmpty()) {
            throw new java.io.IOException(REPORTS + "destination is not set");
        }
        List<String> more = new ArrayList<>();
        pass(conf, "tables", "--reports", more);
        pass(conf, "format", "--format", more);
        pass(conf, "batchSize", "--batch-size", more);
        pass(conf, "fileSizeLimit", "--file-size-limit", more);
        pass(conf, "flushInterval", "--flush-every", more);
        pass(conf, "closeTimeout", "--close-timeout", more);
        if (conf.getBoolean(REPORTS + "tasks.enabled", false)) {
            more.add("--tasks");
        }
        String staging = conf.get(REPORTS + "stagingDir", "/tmp/emberscope/{{spark.app.id}}/");
        return Reports.files(conf, destination, staging, Collections.unmodifiableList(more));
    }

    private static void pass(SparkConf conf, String property, String option, List<String> to) {
        String value = conf.get(REPORTS + property, "");
        if (!value.isEmpty()) {
            to.add(option);
            to.add(value);
        }
    }
}
