package io.emberscope;

import java.util.ArrayDeque;
import java.util.Map;
import java.util.TreeMap;

/**
 * Lines on their way from the listener to whoever writes them. Adding never waits: beyond its size whole lines are
 * dropped, and counted by the event they are of.
 */
final class Ring {
    /** What a line takes beside its bytes. */
    private static final int OVERHEAD = 48;
    /** Bytes that are written together. Waking the writer for each line would cost more than writing it. */
    private static final int BATCH = 1 << 18;

    private final long mostBytes;
    private final ArrayDeque<byte[]> lines = new ArrayDeque<>();
    private long bytes;
    private boolean isClosed;
    private Map<String, Long> dropped = new TreeMap<>();

    Ring(long mostBytes) {
        this.mostBytes = mostBytes;
    }

    /** Takes a line, or drops it; the class is that of the event that it is of. */
    synchronized void offer(Class<?> event, byte[] line) {
        if (isClosed) {
            return;
        }
        if (bytes + line.length + OVERHEAD > mostBytes) {
            dropped.merge(event.getSimpleName(), 1L, Long::sum);
            return;
        }
        lines.add(line);
        boolean wasLess = bytes < BATCH;
        bytes += line.length + OVERHEAD;
        if (wasLess && bytes >= BATCH) {
            notifyAll();
        }
    }

    /** Waits up to {@code ms} for a batch, and moves what there is to {@code to}, a batch at most. */
    synchronized void drain(ArrayDeque<byte[]> to, long ms) throws InterruptedException {
        if (bytes < BATCH && !isClosed) {
            wait(ms);
        }
        int moved = 0;
        while (!lines.isEmpty() && moved < BATCH) {
            byte[] line = lines.poll();
            bytes -= line.length + OVERHEAD;
            moved += line.length;
            to.add(line);
        }
    }

    /** What was dropped since the last call; null for nothing. */
    synchronized Map<String, Long> takeDropped() {
        if (dropped.isEmpty()) {
            return null;
        }
        Map<String, Long> taken = dropped;
        dropped = new TreeMap<>();
        return taken;
    }

    /** From now on nothing is taken; what is there can still be drained. */
    synchronized void close() {
        isClosed = true;
        notifyAll();
    }

    synchronized boolean isFinished() {
        return isClosed && lines.isEmpty();
    }
}
