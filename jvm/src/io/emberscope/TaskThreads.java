package io.emberscope;

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.spark.TaskContext;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.scheduler.LiveListenerBus;

/**
 * Tells the driver which thread ran which task. Tasks that end within a tenth of a second travel together; what waits
 * when an executor dies is lost.
 */
final class TaskThreads {
    private static final long TOGETHER_MS = 100;
    /** Longs of a task in a message: id, thread, start, end. */
    private static final int FIELDS = 4;
    /** Tasks that wait at most while the driver does not answer. */
    private static final int MOST_WAITING = 10_000;

    private final PluginContext context;
    private final ScheduledExecutorService sender;
    /** TaskContext is gone when a task's end is told. */
    private final ThreadLocal<long[]> current = new ThreadLocal<>();
    private long[] waiting = new long[64 * FIELDS];
    private int used;
    private boolean isDue;
    private long sentAt;
    private boolean isTold;

    TaskThreads(PluginContext context) {
        this.context = context;
        this.sender = Executors.newSingleThreadScheduledExecutor(Threads.daemons("emberscope-task-threads"));
    }

    void started() {
        TaskContext task = TaskContext.get();
        if (task != null) {
            current.set(new long[] {task.taskAttemptId(), Thread.currentThread().getId(), System.currentTimeMillis()});
        }
    }

    void ended() {
        long[] task = current.get();
        if (task == null) {
            // It failed before it began.
            return;
        }
        current.remove();
        add(task, System.currentTimeMillis());
    }

    private synchronized void add(long[] task, long end) {
        if (used >= MOST_WAITING * FIELDS || sender.isShutdown()) {
            return;
        }
        if (used + FIELDS > waiting.length) {
            waiting = java.util.Arrays.copyOf(waiting, 2 * waiting.length);
        }
        System.arraycopy(task, 0, waiting, used, task.length);
        waiting[used + task.length] = end;
        used += FIELDS;
        if (!isDue) {
            isDue = true;
            long wait = Math.max(0, sentAt + TOGETHER_MS - System.currentTimeMillis());
            sender.schedule(this::send, wait, TimeUnit.MILLISECONDS);
        }
    }

    private void send() {
        long[] tasks;
        synchronized (this) {
            tasks = java.util.Arrays.copyOf(waiting, used);
            used = 0;
            isDue = false;
            sentAt = System.currentTimeMillis();
        }
        try {
            // Classes of the JDK alone, which any class loader of the driver knows.
            context.send(new Object[] {context.executorID(), tasks});
        } catch (Throwable failure) {
            if (!isTold) {
                isTold = true;
                Log.warn("the driver cannot be told which threads ran tasks", failure);
            }
        }
    }

    void close() {
        sender.execute(this::send);
        sender.shutdown();
        try {
            sender.awaitTermination(2, TimeUnit.SECONDS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** On the driver: writes what an executor told to the event log, an event for each task. */
    static void post(Object message, LiveListenerBus bus) {
        if (!(message instanceof Object[])) {
            return;
        }
        Object[] told = (Object[]) message;
        if (told.length != 2 || !(told[0] instanceof String) || !(told[1] instanceof long[])) {
            return;
        }
        long[] tasks = (long[]) told[1];
        for (int at = 0; at + FIELDS <= tasks.length; at += FIELDS) {
            String executor = (String) told[0];
            bus.post(new TaskThreadEvent(tasks[at], executor, tasks[at + 1], tasks[at + 2], tasks[at + 3]));
        }
    }
}
