package io.emberscope;

import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.SparkListenerEnvironmentUpdate;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import scala.Tuple2;

/** Events as the lines of an event log: Spark's own JSON, with secrets masked as Spark masks them there. */
final class EventJson {
    /** Where Spark does not say. */
    private static final String DEFAULT_SECRETS = "(?i)secret|password|token|access[.]?key";

    private static final int MOST_KEPT_BYTES = 1 << 20;

    private final Method write;
    /** The third argument of {@link #write} from Spark 4 on; null before. */
    private final Object options;
    private final JsonFactory factory = new JsonFactory();
    /** Used by the listener's thread alone. */
    private ByteArrayOutputStream buffer;
    /** Writes into {@link #buffer}, one event after the other; null where it was left within one. */
    private JsonGenerator generator;
    private final Pattern secrets;
    private final SparkConf conf;

    EventJson(SparkConf conf) throws ReflectiveOperationException {
        this.conf = conf;
        this.secrets = secrets(conf);
        Class<?> protocol = Class.forName("org.apache.spark.util.JsonProtocol");
        Method method;
        Object options = null;
        try {
            Class<?> type = Class.forName("org.apache.spark.util.JsonProtocolOptions");
            method = protocol.getMethod("writeSparkEventToJson", SparkListenerEvent.class, JsonGenerator.class, type);
            options = type.getConstructor(SparkConf.class).newInstance(conf);
        } catch (ClassNotFoundException before4) {
            method = protocol.getMethod("writeSparkEventToJson", SparkListenerEvent.class, JsonGenerator.class);
        }
        // Else each call asks who makes it.
        method.setAccessible(true);
        this.write = method;
        this.options = options;
    }

    /** What Spark takes for a secret: as configured, or the default of its version. */
    private static Pattern secrets(SparkConf conf) {
        try {
            Object config = Class.forName("org.apache.spark.internal.config.package$").getField("MODULE$").get(null);
            Object entry = config.getClass().getMethod("SECRET_REDACTION_PATTERN").invoke(config);
            Class<?> type = Class.forName("org.apache.spark.internal.config.ConfigEntry");
            Object regex = SparkConf.class.getMethod("get", type).invoke(conf, entry);
            return (Pattern) regex.getClass().getMethod("pattern").invoke(regex);
        } catch (ReflectiveOperationException otherwise) {
            return Pattern.compile(conf.get("spark.redaction.regex", DEFAULT_SECRETS));
        }
    }

    /** The line, with its end. Called by one thread. */
    byte[] line(SparkListenerEvent event) throws IOException, ReflectiveOperationException {
        JsonGenerator writer = generator == null ? begun() : generator;
        generator = null;
        if (options == null) {
            write.invoke(null, event, writer);
        } else {
            write.invoke(null, event, writer, options);
        }
        writer.flush();
        buffer.write('\n');
        byte[] line = buffer.toByteArray();
        buffer.reset();
        if (line.length <= MOST_KEPT_BYTES) {
            generator = writer;
        }
        if (event instanceof SparkListenerEnvironmentUpdate) {
            return masked(line, (key, value) -> isSecret(key) || isSecret(value));
        }
        if (event instanceof SparkListenerJobStart || event instanceof SparkListenerStageSubmitted) {
            // Of a job's properties Spark masks those of the configuration. Descriptions and the like are kept.
            return masked(line, (key, value) -> isSecret(key) || isSecret(value) && conf.contains(key));
        }
        return line;
    }

    private JsonGenerator begun() throws IOException {
        buffer = new ByteArrayOutputStream(1 << 14);
        JsonGenerator writer = factory.createGenerator(buffer, JsonEncoding.UTF8);
        // Nothing between events but what is written there.
        writer.setRootValueSeparator(null);
        return writer;
    }

    private static byte[] masked(byte[] line, Masking.Rule rule) {
        String text = new String(line, StandardCharsets.UTF_8);
        return new Masking(text, rule).masked().getBytes(StandardCharsets.UTF_8);
    }

    /** What Spark's own log begins with. */
    static byte[] logStart(String version) {
        return bytes("{\"Event\":\"SparkListenerLogStart\",\"Spark Version\":\"" + version + "\"}");
    }

    /** Start and properties of a running application, as far as its configuration has them. */
    List<byte[]> beginning(SparkConf conf) {
        ObjectMapper mapper = new ObjectMapper();
        ObjectNode start = mapper.createObjectNode().put("Event", "SparkListenerApplicationStart");
        start.put("App Name", conf.get("spark.app.name", "")).put("App ID", conf.get("spark.app.id", ""));
        start.put("Timestamp", conf.getLong("spark.app.startTime", System.currentTimeMillis()));
        start.put("User", System.getProperty("user.name", ""));
        ObjectNode environment = mapper.createObjectNode().put("Event", "SparkListenerEnvironmentUpdate");
        ObjectNode properties = environment.putObject("Spark Properties");
        for (Tuple2<String, String> entry : conf.getAll()) {
            properties.put(entry._1(), entry._2());
        }
        String masked =
            new Masking(environment.toString(), (key, value) -> isSecret(key) || isSecret(value)).masked();
        return Arrays.asList(bytes(start.toString()), bytes(masked));
    }

    private static byte[] bytes(String text) {
        return (text + "\n").getBytes(StandardCharsets.UTF_8);
    }

    private boolean isSecret(String text) {
        return secrets.matcher(text).find();
    }
}
