import java.io.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;

/**
 * Writes the stream.* files beside it with the Java libraries Spark ships, so that the decoders are tested against the real writers:
 * two streams appended to each other, each flushed in its middle, small blocks. stream.plain is what they all hold.
 *
 *   CP=$(echo $SPARK_HOME/jars/{lz4-java,snappy-java,compress-lzf,zstd-jni}-*.jar | tr ' ' ':')
 *   java -cp "$CP" StreamFixtures.java
 */
public class StreamFixtures {
  static byte[] log() {
    StringBuilder b = new StringBuilder();
    b.append("{\"Event\":\"SparkListenerLogStart\",\"Spark Version\":\"3.5.1\"}\n");
    for (int i = 0; i < 40; i++) b.append("{\"Event\":\"SparkListenerTaskStart\",\"Stage ID\":").append(i / 8).append(",\"Task Info\":{\"Task ID\":").append(i).append(",\"Launch Time\":").append(1700000000000L + i * 7919L * i % 10007).append("}}\n");
    return b.toString().getBytes(StandardCharsets.UTF_8);
  }
  interface Wrap { OutputStream on(OutputStream o) throws IOException; }
  static void write(String name, byte[] log, Wrap w) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    int half = log.length / 2;
    // Two streams one after the other; each is flushed in the middle, as Spark flushes after important events.
    for (int[] r : new int[][] {{0, half}, {half, log.length}}) {
      OutputStream o = w.on(out);
      int mid = (r[0] + r[1]) / 2;
      o.write(log, r[0], mid - r[0]); o.flush(); o.write(log, mid, r[1] - mid); o.close();
    }
    Files.write(Paths.get(name), out.toByteArray());
  }
  public static void main(String[] a) throws Exception {
    byte[] log = log();
    Files.write(Paths.get("stream.plain"), log);
    write("stream.lz4", log, o -> new net.jpountz.lz4.LZ4BlockOutputStream(keep(o), 1024));
    write("stream.snappy", log, o -> new org.xerial.snappy.SnappyOutputStream(keep(o), 1024));
    write("stream.lzf", log, o -> { var l = new com.ning.compress.lzf.LZFOutputStream(keep(o)); l.setFinishBlockOnFlush(true); return l; });
    write("stream.zstd", log, o -> { var z = new com.github.luben.zstd.ZstdOutputStreamNoFinalizer(keep(o), 1); z.setCloseFrameOnFlush(true); return z; });
  }
  static OutputStream keep(OutputStream o) { return new FilterOutputStream(o) { public void write(byte[] b, int s, int n) throws IOException { out.write(b, s, n); } public void close() throws IOException { flush(); } }; }
}
