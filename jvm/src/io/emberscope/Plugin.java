package io.emberscope;

import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * What Spark loads: {@code spark.plugins=io.emberscope.Plugin}. Each part is off until its switch is on, and none of
 * them ever fails the application.
 */
public class Plugin implements SparkPlugin {
    @Override
    public DriverPlugin driverPlugin() {
        return new DriverSide();
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return new ExecutorSide();
    }
}
