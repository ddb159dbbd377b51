package io.emberscope;

import java.io.File;
import java.lang.reflect.Method;
import org.apache.spark.SparkConf;

/** async-profiler, from the loader of Maven or from a library of its own. */
final class AsyncRecorder implements Recorder {
    private static final String DEFAULT_ARGUMENTS = "event=wall,interval=10ms,alloc=2m,lock=10ms,chunktime=300s";

    private final String arguments;
    private final String library;
    private Object profiler;
    private Method execute;

    AsyncRecorder(SparkConf conf) {
        this.arguments = conf.get("spark.profiler.asyncProfiler.args", DEFAULT_ARGUMENTS);
        this.library = conf.get("spark.emberscope.profiler.library", "");
    }

    @Override
    public void start(File file) throws Exception {
        if (profiler == null) {
            load();
        }
        execute.invoke(profiler, "start," + arguments + ",jfr,file=" + file.getPath());
    }

    @Override
    public void end(File file, File next) throws Exception {
        execute.invoke(profiler, "stop,file=" + file.getPath());
        if (next != null) {
            start(next);
        }
    }

    private void load() throws Exception {
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        if (library.isEmpty()) {
            Class<?> found = Class.forName("one.profiler.AsyncProfilerLoader", true, loader);
            profiler = found.getMethod("loadOrNull").invoke(null);
            if (profiler == null) {
                throw new IllegalStateException("async-profiler does not support this platform");
            }
        } else {
            Class<?> found = Class.forName("one.profiler.AsyncProfiler", true, loader);
            profiler = found.getMethod("getInstance", String.class).invoke(null, library);
        }
        execute = profiler.getClass().getMethod("execute", String.class);
    }

    @Override
    public String name() {
        return "async-profiler";
    }
}
