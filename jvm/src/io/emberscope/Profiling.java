package io.emberscope;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.util.ShutdownHookManager;
import org.apache.spark.SparkConf;

/**
 * Records one JVM. Every interval the recording goes on in another part, and the one that ended goes to the remote
 * directory and to the end of the local file: a JVM that dies loses its last part. Parts are whole recordings, and so
 * is what they give put together.
 */
final class Profiling {
    private static final String PROPERTIES = "spark.profiler.";
    /** Up to this size the whole recording takes the place of its parts in the remote directory. */
    private static final String WHOLE_SIZE = "spark.emberscope.profiler.wholeSizeLimit";
    /** Before Hadoop closes its file systems (10), after Spark has stopped (40). */
    private static final int HOOK_PRIORITY = 20;
    /** The one of this JVM, for tasks that run in the driver's. */
    private static volatile Profiling ofThisJvm;

    private final SparkConf conf;
    private final String name;
    private final File local;
    private final String remote;
    private final long wholeBytes;
    private final RemoteStore store;
    private final ScheduledExecutorService thread;
    private volatile String applicationId;
    private volatile Recorder recorder;
    private int number;
    private boolean isRecording;
    private boolean isClosed;
    private long bytes;
    /** Parts that are not in the remote directory yet, and how many are. */
    private final List<File> waiting = new ArrayList<>();
    private final List<String> copied = new ArrayList<>();

    private Profiling(SparkConf conf, String name) {
        this.conf = conf;
        this.name = name;
        this.local = new File(conf.get(PROPERTIES + "localDir", "."));
        this.remote = conf.get(PROPERTIES + "dfsDir", "");
        this.wholeBytes = conf.getSizeAsBytes(WHOLE_SIZE, "64m");
        this.store = new RemoteStore(conf);
        this.applicationId = conf.get("spark.app.id", "");
        ScheduledThreadPoolExecutor executor =
            new ScheduledThreadPoolExecutor(1, Threads.daemons("emberscope-profiler"));
        executor.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
        this.thread = executor;
    }

    /** The driver's; null where it is off. */
    static Profiling ofDriver(SparkConf conf) {
        if (!conf.getBoolean(PROPERTIES + "driver.enabled", false)) {
            return null;
        }
        return begin(new Profiling(conf, "profile-driver"));
    }

    /** An executor's; null where it is off, or where chance picked others. */
    static Profiling ofExecutor(SparkConf conf, String executorId) {
        if (!conf.getBoolean(PROPERTIES + "executor.enabled", false)) {
            return null;
        }
        double fraction = conf.getDouble(PROPERTIES + "executor.fraction", 0.10);
        if (ThreadLocalRandom.current().nextDouble() >= fraction) {
            return null;
        }
        return begin(new Profiling(conf, "profile-exec-" + executorId));
    }

    /** For tasks in the driver's JVM: its recording has their threads. */
    static Profiling ofLocalTasks() {
        return ofThisJvm;
    }

    private static Profiling begin(Profiling profiling) {
        ofThisJvm = profiling;
        try {
            // Loading a recorder takes a second, which Spark's start need not wait for.
            profiling.thread.execute(profiling::start);
            long interval = Math.max(1, profiling.conf.getLong(PROPERTIES + "dfsWriteInterval", 30));
            profiling.thread.scheduleAtFixedRate(profiling::rotate, interval, interval, TimeUnit.SECONDS);
            // Executors are often ended by a signal, without a word to their plugins.
            ShutdownHookManager.get().addShutdownHook(profiling::close, HOOK_PRIORITY);
        } catch (Throwable failure) {
            Log.warn("this JVM is not recorded", failure);
        }
        return profiling;
    }

    /** The application's id, which a driver knows late. */
    void knowApplication(String id) {
        applicationId = id;
    }

    void taskStarted() {
        Recorder running = recorder;
        if (running != null) {
            running.taskStarted();
        }
    }

    void taskEnded() {
        Recorder running = recorder;
        if (running != null) {
            running.taskEnded();
        }
    }

    private void start() {
        List<Throwable> failures = new ArrayList<>();
        try {
            Files.createDirectories(local.toPath());
            Files.deleteIfExists(whole().toPath());
            for (Recorder one : Recorder.of(conf)) {
                try {
                    one.start(part(0));
                    recorder = one;
                    isRecording = true;
                    Log.info(one.name() + " records this JVM into " + whole());
                    return;
                } catch (Throwable failure) {
                    failures.add(failure);
                    Log.info(one.name() + " cannot be used: " + cause(failure));
                }
            }
        } catch (Throwable failure) {
            failures.add(failure);
        }
        Log.warn("this JVM is not recorded: " + failures);
    }

    private static Throwable cause(Throwable failure) {
        return failure instanceof java.lang.reflect.InvocationTargetException ? failure.getCause() : failure;
    }

    private File part(int number) {
        return new File(local, name + "." + number + ".jfr");
    }

    private File whole() {
        return new File(local, name + ".jfr");
    }

    private void rotate() {
        if (!isRecording) {
            return;
        }
        File ended = part(number);
        try {
            recorder.end(ended, part(number + 1));
            number++;
            take(ended);
            copyWaiting();
        } catch (Throwable failure) {
            isRecording = false;
            Log.warn("recording has ended", failure);
        }
    }

    /** Whether the recording stays in parts: an application that does not end must not fill the local disk. */
    private boolean staysInParts() {
        return !remote.isEmpty() && bytes > wholeBytes;
    }

    /** Puts a part at the end of the local file, where that is of use. */
    private void take(File part) throws IOException {
        bytes += part.length();
        if (staysInParts()) {
            Files.deleteIfExists(whole().toPath());
        } else {
            try (OutputStream out =
                Files.newOutputStream(whole().toPath(), StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
                Files.copy(part.toPath(), out);
            }
        }
        if (remote.isEmpty()) {
            Files.delete(part.toPath());
        } else {
            waiting.add(part);
        }
    }

    private String remoteDirectory() {
        return remote + (remote.endsWith("/") ? "" : "/") + applicationId;
    }

    private void copyWaiting() {
        while (!waiting.isEmpty() && !applicationId.isEmpty()) {
            File part = waiting.get(0);
            try {
                store.copy(part, remoteDirectory(), part.getName());
            } catch (Throwable failure) {
                Log.warn(part + " is not copied to " + remoteDirectory() + " yet", failure);
                return;
            }
            copied.add(part.getName());
            waiting.remove(0);
            part.delete();
        }
    }

    /** Ends the recording and brings what is left to its place. */
    void close() {
        synchronized (this) {
            if (isClosed) {
                return;
            }
            isClosed = true;
        }
        try {
            thread.execute(this::finish);
            thread.shutdown();
            if (!thread.awaitTermination(10, TimeUnit.SECONDS)) {
                Log.warn("the recording was not brought to its place within 10 s; what is left is in " + local);
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        } catch (Throwable failure) {
            Log.warn("the recording was not ended", failure);
        }
    }

    private void finish() {
        if (!isRecording) {
            return;
        }
        isRecording = false;
        File ended = part(number);
        try {
            recorder.end(ended, null);
            take(ended);
        } catch (Throwable failure) {
            Log.warn("the end of the recording is lost", failure);
        }
        if (remote.isEmpty()) {
            return;
        }
        if (staysInParts()) {
            copyWaiting();
        } else {
            copyWhole();
        }
    }

    private void copyWhole() {
        try {
            store.copy(whole(), remoteDirectory(), whole().getName());
            for (String part : copied) {
                store.remove(remoteDirectory(), part);
            }
            for (File part : waiting) {
                part.delete();
            }
        } catch (Throwable failure) {
            Log.warn(whole() + " cannot be copied to " + remoteDirectory() + " and stays", failure);
            copyWaiting();
        }
    }
}
