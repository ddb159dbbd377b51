package io.emberscope;

import java.io.File;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkConf;
import org.apache.spark.deploy.SparkHadoopUtil;
import scala.Tuple2;

/** Stores that Hadoop's file systems reach. Opened when it is first used, since Spark may not be ready before. */
final class RemoteStore {
    private static final Set<String> SCHEMES = new HashSet<>(Arrays.asList(
        "s3", "s3a", "s3n", "abfs", "abfss", "wasb", "wasbs", "gs", "dbfs", "hdfs", "viewfs", "webhdfs"));

    private final SparkConf conf;
    private Configuration hadoop;

    RemoteStore(SparkConf conf) {
        this.conf = conf;
    }

    /** The scheme of a destination, in lower case; empty for a path. */
    static String scheme(String destination) {
        int colon = destination.indexOf(':');
        String scheme = colon > 1 ? destination.substring(0, colon).toLowerCase(Locale.ROOT) : "";
        return scheme.chars().allMatch(c -> Character.isLetterOrDigit(c) || "+-.".indexOf(c) >= 0) ? scheme : "";
    }

    /** Whether a destination is in such a store. */
    static boolean isRemote(String destination) {
        return SCHEMES.contains(scheme(destination));
    }

    /** Copies a file; it appears under its name when it is whole. */
    void copy(File from, String toDirectory, String name) throws IOException {
        Path dir = new Path(toDirectory);
        FileSystem files = dir.getFileSystem(configuration());
        files.mkdirs(dir);
        Path to = new Path(dir, name);
        Path part = new Path(dir, "." + name + ".inprogress");
        files.copyFromLocalFile(false, true, new Path(from.toURI()), part);
        // Where names cannot be replaced, the old one goes first.
        files.delete(to, false);
        if (!files.rename(part, to)) {
            throw new IOException(to + " cannot get its name");
        }
    }

    /** Removes a file that may be gone already. */
    void remove(String directory, String name) throws IOException {
        Path path = new Path(directory, name);
        path.getFileSystem(configuration()).delete(path, false);
    }

    private synchronized Configuration configuration() {
        if (hadoop == null) {
            hadoop = SparkHadoopUtil.get().newConfiguration(conf);
            for (Tuple2<String, String> entry : conf.getAll()) {
                if (entry._1().startsWith("fs.")) {
                    hadoop.set(entry._1(), entry._2());
                }
            }
        }
        return hadoop;
    }
}
