package io.emberscope;

import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;

/**
 * Hears events on a queue of its own, and lets those of short tasks gather there for a moment: a thread that is woken
 * for each one spends a sixth of its time on that. A queue that others hear, too, must not be held up like this.
 */
final class PacedListener extends StreamListener {
    /** How long events gather. Spark's queue has room for 10,000. */
    private static final long GATHER_MS = 10;
    /** When nothing came for so long, the queue was empty, and the thread slept. */
    private static final long EMPTY_NS = 100_000;
    /** An event that waited longer than this has others behind it, and nothing is waited for. */
    private static final long LATE_MS = 100;

    private final EventStream stream;

    PacedListener(EventStream stream, SparkConf conf) {
        super(stream, conf);
        this.stream = stream;
    }

    @Override
    public void onTaskStart(SparkListenerTaskStart event) {
        gather(event.taskInfo().launchTime());
        super.onTaskStart(event);
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd event) {
        gather(event.taskInfo().finishTime());
        super.onTaskEnd(event);
    }

    @Override
    public void onOtherEvent(SparkListenerEvent event) {
        if (event instanceof QueueEnd) {
            ((QueueEnd) event).isHeard();
        } else {
            super.onOtherEvent(event);
        }
    }

    private void gather(long happenedMs) {
        boolean wasEmpty = System.nanoTime() - stream.lastEventNs() > EMPTY_NS;
        if (!wasEmpty || System.currentTimeMillis() - happenedMs > LATE_MS) {
            return;
        }
        try {
            Thread.sleep(GATHER_MS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
