package io.emberscope;

import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;

/** An executor's part of the plugin. In local mode it lives in the driver's JVM. */
final class ExecutorSide implements ExecutorPlugin {
    /** What the driver tells: whether this JVM is its own. */
    static final String IS_LOCAL = "local";
    private static final String TASK_THREADS = "spark.profiler.executor.taskThreadEvent.enabled";

    private TaskThreads taskThreads;
    private Profiling profiling;

    @Override
    public void init(PluginContext context, Map<String, String> told) {
        try {
            begin(context, told);
        } catch (Throwable failure) {
            Log.warn("this executor is neither mapped nor recorded", failure);
        }
    }

    private void begin(PluginContext context, Map<String, String> told) {
        SparkConf conf = context.conf();
        boolean hasReader =
            conf.getBoolean("spark.eventLog.enabled", false) || conf.getBoolean("spark.emberscope.stream.enabled", false);
        if (hasReader && conf.getBoolean(TASK_THREADS, false)) {
            taskThreads = new TaskThreads(context);
        }
        boolean isLocal = told != null && "true".equals(told.get(IS_LOCAL));
        profiling = isLocal ? Profiling.ofLocalTasks() : Profiling.ofExecutor(conf, context.executorID());
    }

    @Override
    public void onTaskStart() {
        if (taskThreads != null) {
            taskThreads.started();
        }
        if (profiling != null) {
            profiling.taskStarted();
        }
    }

    @Override
    public void onTaskSucceeded() {
        ended();
    }

    @Override
    public void onTaskFailed(TaskFailedReason reason) {
        ended();
    }

    private void ended() {
        if (taskThreads != null) {
            taskThreads.ended();
        }
        if (profiling != null) {
            profiling.taskEnded();
        }
    }

    @Override
    public void shutdown() {
        if (taskThreads != null) {
            taskThreads.close();
        }
        if (profiling != null) {
            profiling.close();
        }
    }
}
