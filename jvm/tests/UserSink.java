package user;

import io.emberscope.Sink;
import java.io.FileWriter;
import java.io.IOException;
import java.io.PrintWriter;
import org.apache.spark.SparkConf;

/** What a user of the companion might write: rows into a file of their own. */
public class UserSink implements Sink {
    private final PrintWriter out;

    public UserSink(SparkConf conf) throws IOException {
        out = new PrintWriter(new FileWriter(conf.get("spark.user.file")));
    }

    @Override
    public void write(String kind, String json) {
        out.println(kind + "\t" + json);
    }

    @Override
    public void close() {
        out.println("closed");
        out.close();
    }

    @Override
    public String viewSnippet(String kind) {
        return "-- view of " + kind;
    }
}
