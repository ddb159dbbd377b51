package io.emberscope;

import org.apache.spark.scheduler.SparkListenerEvent;

/**
 * Which JVM thread ran a task attempt, and when. Spark writes it into its own event log: the getters become the five
 * fields, and this class's name the event's.
 */
public final class TaskThreadEvent implements SparkListenerEvent {
    private final long taskId;
    private final String executorId;
    private final long javaThreadId;
    private final long startTime;
    private final long endTime;

    TaskThreadEvent(long taskId, String executorId, long javaThreadId, long startTime, long endTime) {
        this.taskId = taskId;
        this.executorId = executorId;
        this.javaThreadId = javaThreadId;
        this.startTime = startTime;
        this.endTime = endTime;
    }

    /** Spark's id of the task attempt, distinct for retries and speculative copies. */
    public long getTaskId() {
        return taskId;
    }

    public String getExecutorId() {
        return executorId;
    }

    /** Id of the thread within the executor's JVM; not the operating system's. */
    public long getJavaThreadId() {
        return javaThreadId;
    }

    /** Start on the executor's clock, epoch milliseconds, after the task was deserialized. */
    public long getStartTime() {
        return startTime;
    }

    /** End on the executor's clock, epoch milliseconds, after its result was serialized. */
    public long getEndTime() {
        return endTime;
    }
}
