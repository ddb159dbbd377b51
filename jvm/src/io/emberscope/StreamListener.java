package io.emberscope;

import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.*;

/** Hears what Spark's own event log is written from, and hands it on. */
class StreamListener extends SparkListener {
    private final EventStream stream;
    private final boolean hasBlockUpdates;

    StreamListener(EventStream stream, SparkConf conf) {
        this.stream = stream;
        this.hasBlockUpdates = conf.getBoolean("spark.eventLog.logBlockUpdates.enabled", false);
    }

    /** Takes an event; overridden by who looks at some of them. */
    void take(SparkListenerEvent event) {
        stream.add(event);
    }

    @Override
    public void onStageSubmitted(SparkListenerStageSubmitted event) {
        take(event);
    }

    @Override
    public void onStageCompleted(SparkListenerStageCompleted event) {
        take(event);
    }

    @Override
    public void onTaskStart(SparkListenerTaskStart event) {
        take(event);
    }

    @Override
    public void onTaskGettingResult(SparkListenerTaskGettingResult event) {
        take(event);
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd event) {
        take(event);
    }

    @Override
    public void onJobStart(SparkListenerJobStart event) {
        take(event);
    }

    @Override
    public void onJobEnd(SparkListenerJobEnd event) {
        take(event);
    }

    @Override
    public void onEnvironmentUpdate(SparkListenerEnvironmentUpdate event) {
        take(event);
    }

    @Override
    public void onResourceProfileAdded(SparkListenerResourceProfileAdded event) {
        take(event);
    }

    @Override
    public void onBlockManagerAdded(SparkListenerBlockManagerAdded event) {
        take(event);
    }

    @Override
    public void onBlockManagerRemoved(SparkListenerBlockManagerRemoved event) {
        take(event);
    }

    @Override
    public void onBlockUpdated(SparkListenerBlockUpdated event) {
        if (hasBlockUpdates) {
            take(event);
        }
    }

    @Override
    public void onUnpersistRDD(SparkListenerUnpersistRDD event) {
        take(event);
    }

    @Override
    public void onApplicationStart(SparkListenerApplicationStart event) {
        take(event);
    }

    @Override
    public void onApplicationEnd(SparkListenerApplicationEnd event) {
        take(event);
    }

    @Override
    public void onExecutorAdded(SparkListenerExecutorAdded event) {
        take(event);
    }

    @Override
    public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
        take(event);
    }

    @Override
    public void onExecutorExcluded(SparkListenerExecutorExcluded event) {
        take(event);
    }

    @Override
    public void onExecutorExcludedForStage(SparkListenerExecutorExcludedForStage event) {
        take(event);
    }

    @Override
    public void onNodeExcludedForStage(SparkListenerNodeExcludedForStage event) {
        take(event);
    }

    @Override
    public void onExecutorUnexcluded(SparkListenerExecutorUnexcluded event) {
        take(event);
    }

    @Override
    public void onNodeExcluded(SparkListenerNodeExcluded event) {
        take(event);
    }

    @Override
    public void onNodeUnexcluded(SparkListenerNodeUnexcluded event) {
        take(event);
    }

    @Override
    @SuppressWarnings("deprecation")
    public void onExecutorBlacklisted(SparkListenerExecutorBlacklisted event) {
        take(event);
    }

    @Override
    @SuppressWarnings("deprecation")
    public void onExecutorBlacklistedForStage(SparkListenerExecutorBlacklistedForStage event) {
        take(event);
    }

    @Override
    @SuppressWarnings("deprecation")
    public void onNodeBlacklistedForStage(SparkListenerNodeBlacklistedForStage event) {
        take(event);
    }

    @Override
    @SuppressWarnings("deprecation")
    public void onExecutorUnblacklisted(SparkListenerExecutorUnblacklisted event) {
        take(event);
    }

    @Override
    @SuppressWarnings("deprecation")
    public void onNodeBlacklisted(SparkListenerNodeBlacklisted event) {
        take(event);
    }

    @Override
    @SuppressWarnings("deprecation")
    public void onNodeUnblacklisted(SparkListenerNodeUnblacklisted event) {
        take(event);
    }

    @Override
    public void onOtherEvent(SparkListenerEvent event) {
        if (event.logEvent()) {
            take(event);
        }
    }
}
