package io.emberscope;

import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.time.Duration;
import org.apache.spark.SparkConf;

/** The JDK's own recorder, by reflection: what is compiled for Java 8 cannot name it. */
final class JdkRecorder implements Recorder {
    /** Waits shorter than this are noise. */
    private static final Duration SHORTEST_WAIT = Duration.ofMillis(10);

    private final Duration interval;
    private Object recording;

    JdkRecorder(SparkConf conf) {
        this.interval = Duration.ofMillis(conf.getTimeAsMs("spark.emberscope.profiler.interval", "10ms"));
    }

    @Override
    public void start(File file) throws Exception {
        Object begun = Class.forName("jdk.jfr.Recording").getConstructor().newInstance();
        call(begun, "setName", String.class, "emberscope");
        call(begun, "setToDisk", boolean.class, true);
        call(enable(begun, "jdk.ExecutionSample"), "withPeriod", Duration.class, interval);
        call(enable(begun, "jdk.NativeMethodSample"), "withPeriod", Duration.class, interval.multipliedBy(2));
        // Java 25 on; an event that this JDK lacks is enabled in vain.
        set(enable(begun, "jdk.CPUTimeSample"), "throttle", interval.toMillis() + "ms");
        set(enable(begun, "jdk.ObjectAllocationSample"), "throttle", "100/s");
        for (String wait : new String[] {
            "JavaMonitorEnter", "JavaMonitorWait", "ThreadPark", "ThreadSleep", "SocketRead", "SocketWrite", "FileRead",
            "FileWrite"}) {
            call(enable(begun, "jdk." + wait), "withThreshold", Duration.class, SHORTEST_WAIT);
        }
        call(enable(begun, "jdk.CPULoad"), "withPeriod", Duration.class, Duration.ofSeconds(1));
        for (String event : new String[] {
            "GarbageCollection", "GCPhasePause", "GCHeapSummary", "ActiveSetting", "ActiveRecording", "JVMInformation",
            "ThreadStart", "ThreadEnd"}) {
            enable(begun, "jdk." + event);
        }
        call(begun, "start");
        recording = begun;
    }

    /** The next one begins first: so no moment is missing, and a short piece is in both files. */
    @Override
    public void end(File file, File next) throws Exception {
        Object ended = recording;
        recording = null;
        if (next != null) {
            start(next);
        }
        call(ended, "stop");
        call(ended, "dump", Path.class, file.toPath());
        call(ended, "close");
    }

    private static Object enable(Object recording, String event) throws Exception {
        return call(recording, "enable", String.class, event);
    }

    private static void set(Object settings, String name, String value) throws Exception {
        Method with = publicClass(settings.getClass()).getMethod("with", String.class, String.class);
        invoke(with, settings, name, value);
    }

    private static Object call(Object on, String name) throws Exception {
        return invoke(on.getClass().getMethod(name), on);
    }

    private static Object call(Object on, String name, Class<?> type, Object argument) throws Exception {
        // Settings are of a class that is not public; their superclass is, and has the method.
        return invoke(publicClass(on.getClass()).getMethod(name, type), on, argument);
    }

    private static Class<?> publicClass(Class<?> of) {
        Class<?> found = of;
        while (!java.lang.reflect.Modifier.isPublic(found.getModifiers())) {
            found = found.getSuperclass();
        }
        return found;
    }

    private static Object invoke(Method method, Object on, Object... arguments) throws Exception {
        try {
            return method.invoke(on, arguments);
        } catch (InvocationTargetException failure) {
            Throwable cause = failure.getCause();
            throw cause instanceof Exception ? (Exception) cause : failure;
        }
    }

    @Override
    public String name() {
        return "the JDK's recorder";
    }
}
