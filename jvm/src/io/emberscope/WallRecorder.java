package io.emberscope;

import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkConf;

/**
 * Asks every so often what the threads that run tasks do, waiting included. It needs nothing but Java; its samples are
 * taken where the JVM can stop, so that they tell calls and waits well and tight loops badly.
 */
final class WallRecorder implements Recorder {
    private static final int MOST_FRAMES = 512;

    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final Set<Long> running = ConcurrentHashMap.newKeySet();
    private final long intervalMs;
    private JfrFile file;
    private Thread sampler;

    WallRecorder(SparkConf conf) {
        this.intervalMs = Math.max(1, conf.getTimeAsMs("spark.emberscope.profiler.wallInterval", "20ms"));
    }

    @Override
    public void taskStarted() {
        running.add(Thread.currentThread().getId());
    }

    @Override
    public void taskEnded() {
        running.remove(Thread.currentThread().getId());
    }

    @Override
    public void start(File unused) {
        synchronized (this) {
            file = new JfrFile();
        }
        if (sampler == null) {
            sampler = Threads.daemon("emberscope-sampler", this::run);
            sampler.start();
        }
    }

    @Override
    public void end(File ended, File next) throws IOException {
        JfrFile whole;
        synchronized (this) {
            whole = file;
            file = next == null ? null : new JfrFile();
        }
        whole.write(ended.toPath());
    }

    private void run() {
        try {
            while (sample()) {
                Thread.sleep(intervalMs);
            }
        } catch (InterruptedException ended) {
            // The JVM is going down.
        }
    }

    /** Takes a sample of every task's thread; false when recording has ended. */
    private boolean sample() {
        long[] ids = running.stream().mapToLong(Long::longValue).toArray();
        ThreadInfo[] infos = ids.length == 0 ? new ThreadInfo[0] : threads.getThreadInfo(ids, MOST_FRAMES);
        synchronized (this) {
            if (file == null) {
                return false;
            }
            for (ThreadInfo info : infos) {
                if (info != null) {
                    String state = "STATE_" + info.getThreadState();
                    file.sample(info.getThreadId(), info.getThreadName(), state, info.getStackTrace());
                }
            }
        }
        return true;
    }

    @Override
    public String name() {
        return "the wall-clock sampler";
    }
}
