package io.emberscope;

import java.lang.reflect.Field;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.scheduler.LiveListenerBus;
import org.apache.spark.scheduler.SparkListenerEvent;

/**
 * Comes after all events that were posted before it. Spark 3 stops its listeners before it shuts plugins down, so that
 * all is heard by then; Spark 4 does so afterwards, and the end of the application is still in the queues.
 */
final class QueueEnd implements SparkListenerEvent {
    private final CountDownLatch heard = new CountDownLatch(1);

    /** It is nothing for Spark's event log. */
    @Override
    public boolean logEvent() {
        return false;
    }

    /** Called by the listener whose queue is waited for. */
    void isHeard() {
        heard.countDown();
    }

    /** Waits until all that was posted so far is heard, for so long at most. */
    static void await(LiveListenerBus bus, long budgetMs) {
        try {
            if (!isStopped(bus)) {
                QueueEnd end = new QueueEnd();
                bus.post(end);
                if (!end.heard.await(budgetMs, TimeUnit.MILLISECONDS)) {
                    Log.warn("the last events were not heard within " + budgetMs + " ms");
                }
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** A bus that is stopped has emptied its queues, and takes nothing any more. */
    private static boolean isStopped(LiveListenerBus bus) {
        try {
            Field stopped = LiveListenerBus.class.getDeclaredField("stopped");
            stopped.setAccessible(true);
            return ((AtomicBoolean) stopped.get(bus)).get();
        } catch (ReflectiveOperationException | RuntimeException unknown) {
            return true;
        }
    }
}
