package io.emberscope;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.SparkListenerApplicationStart;
import org.apache.spark.scheduler.SparkListenerEnvironmentUpdate;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerLogStart;
import org.apache.spark.scheduler.SparkListenerResourceProfileAdded;

/**
 * The event stream: what the listener hears becomes lines in a ring, and a thread of ours writes them. Nobody but that
 * thread ever waits for the outlet. When the outlet fails, a file takes over, once.
 */
final class EventStream {
    /** Opens the outlet; called by the thread that writes. */
    interface Opening {
        Outlet open() throws IOException;
    }

    /** How long lines may wait in our own buffers. */
    private static final long PATIENCE_MS = 200;
    /** What of the beginning is kept for an outlet that takes over: identity and properties. */
    private static final int HEAD_BYTES = 1 << 20;

    private final EventJson json;
    private final Ring ring;
    private final Opening opening;
    private final File fallback;
    private final long fallbackBytes;
    private final long closeBudgetMs;
    private final CountDownLatch written = new CountDownLatch(1);
    private final List<byte[]> head = new ArrayList<>();
    private int headBytes;
    private boolean isTold;
    private volatile long lastEvent = System.nanoTime();
    private volatile long deadline = Long.MAX_VALUE;
    /** After an application's end: closes when nothing came for so long; negative for never by itself. */
    private volatile long quietMs = -1;
    private volatile Outlet current;
    private Runnable whenWritten = () -> {};

    EventStream(EventJson json, SparkConf conf, String version, Opening opening, long closeBudgetMs) {
        this.json = json;
        this.ring = new Ring(conf.getSizeAsBytes("spark.emberscope.stream.bufferSize", "32m"));
        this.opening = opening;
        this.fallback = file(conf);
        this.fallbackBytes = mostBytes(conf, "1g");
        this.closeBudgetMs = closeBudgetMs;
        byte[] start = EventJson.logStart(version);
        keep(start);
        ring.offer(SparkListenerLogStart.class, start);
    }

    /** The file of the stream, or the one that takes over when another outlet fails. */
    static File file(SparkConf conf) {
        String named = conf.get("spark.emberscope.stream.file", "");
        if (!named.isEmpty()) {
            return new File(Placeholders.times(named));
        }
        String jvm = java.lang.management.ManagementFactory.getRuntimeMXBean().getName().replaceAll("\\W", "-");
        return new File(System.getProperty("java.io.tmpdir"), "emberscope-events-" + jvm + ".jsonl");
    }

    /** What that file may take: an application may go on for months, and nobody may look after it. */
    static long mostBytes(SparkConf conf, String otherwise) {
        return conf.getSizeAsBytes("spark.emberscope.stream.fileSizeLimit", otherwise);
    }

    /** What is done on the writing thread when all is written. */
    void whenWritten(Runnable work) {
        whenWritten = work;
    }

    void start() {
        Threads.daemon("emberscope-stream", this::run).start();
    }

    /** Takes an event. Never throws and never waits. */
    void add(SparkListenerEvent event) {
        try {
            byte[] line = json.line(event);
            if (event instanceof SparkListenerApplicationStart
                || event instanceof SparkListenerEnvironmentUpdate
                || event instanceof SparkListenerResourceProfileAdded) {
                keep(line);
            }
            lastEvent = System.nanoTime();
            ring.offer(event.getClass(), line);
        } catch (Throwable failure) {
            if (!isTold) {
                isTold = true;
                Log.warn("an event cannot be written as JSON and is left out", failure);
            }
        }
    }

    /** When the last event was taken, by {@link System#nanoTime}. */
    long lastEventNs() {
        return lastEvent;
    }

    /** Says what an application's first events would have said. */
    void addBeginning(SparkConf conf) {
        for (byte[] line : json.beginning(conf)) {
            keep(line);
            ring.offer(SparkListenerApplicationStart.class, line);
        }
    }

    private synchronized void keep(byte[] line) {
        if (headBytes + line.length <= HEAD_BYTES) {
            head.add(line);
            headBytes += line.length;
        }
    }

    private synchronized List<byte[]> head() {
        return new ArrayList<>(head);
    }

    /** Lets the stream end by itself when the application has ended and nothing came for a while. */
    void endWhenQuiet(long ms) {
        quietMs = ms;
    }

    /** What its end may take, milliseconds. */
    long closeBudgetMs() {
        return closeBudgetMs;
    }

    /** Ends the stream, and waits until all is written or the time for it is over. */
    void close() {
        end();
        try {
            if (!written.await(closeBudgetMs + 1_000, TimeUnit.MILLISECONDS)) {
                Log.warn("the event stream was not written to its end within " + closeBudgetMs + " ms");
                Outlet outlet = current;
                if (outlet != null) {
                    outlet.kill();
                }
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void end() {
        deadline = Math.min(deadline, System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(closeBudgetMs));
        ring.close();
    }

    private void run() {
        Outlet outlet = null;
        try {
            outlet = open();
            ArrayDeque<byte[]> lines = new ArrayDeque<>();
            current = outlet;
            while (outlet != null && !ring.isFinished() && System.nanoTime() < deadline) {
                ring.drain(lines, PATIENCE_MS);
                gap(lines);
                outlet = write(outlet, lines);
                current = outlet;
                long quiet = quietMs;
                if (quiet >= 0 && System.nanoTime() - lastEvent > TimeUnit.MILLISECONDS.toNanos(quiet)) {
                    end();
                }
            }
            ring.close();
            if (outlet != null) {
                long left = Math.max(0, TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime()));
                outlet.close(left);
            }
        } catch (IOException failure) {
            Log.warn(outlet == null ? "the event stream has ended" : outlet.name() + " failed", failure);
        } catch (InterruptedException interrupted) {
            // The JVM is going down.
        } catch (Throwable failure) {
            Log.warn("the event stream has ended", failure);
        } finally {
            ring.close();
            try {
                whenWritten.run();
            } catch (Throwable failure) {
                Log.warn("what follows the event stream failed", failure);
            }
            written.countDown();
        }
    }

    /** Says what was dropped, by an event of its own. */
    private void gap(ArrayDeque<byte[]> lines) {
        Map<String, Long> dropped = ring.takeDropped();
        if (dropped == null) {
            return;
        }
        StringBuilder text = new StringBuilder("{\"Event\":\"io.emberscope.DroppedEvents\",\"Dropped\":{");
        String comma = "";
        for (Map.Entry<String, Long> one : dropped.entrySet()) {
            text.append(comma).append('"').append(one.getKey()).append("\":").append(one.getValue());
            comma = ",";
        }
        lines.add(text.append("}}\n").toString().getBytes(StandardCharsets.UTF_8));
    }

    private Outlet open() {
        try {
            return opening.open();
        } catch (Throwable failure) {
            return takeOver(failure, new ArrayDeque<>());
        }
    }

    /** Writes and removes the lines; gives the outlet for the next ones, null for none. */
    private Outlet write(Outlet outlet, ArrayDeque<byte[]> lines) {
        try {
            for (byte[] line : lines) {
                outlet.write(line);
            }
            outlet.flush();
            lines.clear();
            return outlet;
        } catch (IOException failure) {
            Throwable reason = failure;
            try {
                outlet.close(1_000);
            } catch (IOException why) {
                reason = why;
            }
            if (outlet.name().equals(fallback.getPath())) {
                Log.warn("events are discarded from now on, since their file cannot be written further", reason);
                return null;
            }
            return takeOver(reason, lines);
        }
    }

    private Outlet takeOver(Throwable reason, ArrayDeque<byte[]> lines) {
        Log.warn("events go to " + fallback + " from now on, since their outlet failed", reason);
        try {
            Outlet file = Outlet.file(fallback, fallbackBytes);
            // From the beginning on everything is still in the ring, the head included.
            if (!lines.isEmpty()) {
                for (byte[] line : head()) {
                    file.write(line);
                }
                for (byte[] line : lines) {
                    file.write(line);
                }
                file.flush();
                lines.clear();
            }
            return file;
        } catch (IOException failure) {
            Log.warn(fallback + " cannot be written either, and events are discarded", failure);
            return null;
        }
    }
}
