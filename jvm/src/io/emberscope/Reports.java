package io.emberscope;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.spark.SparkConf;

/**
 * Reports that a follower writes while the application runs: its arguments, where they are, and, for a remote
 * destination, their way there.
 */
final class Reports {
    private final SparkConf conf;
    private final List<String> arguments = new ArrayList<>();
    private final Consumer<String> eachRow;
    /** Where the files are to be in the end, when the follower cannot write there; else null. */
    private final String remote;
    private final File announced;
    private JsonNode told;

    private Reports(SparkConf conf, String destination, String staging, Consumer<String> eachRow, List<String> more)
        throws IOException {
        this.conf = conf;
        this.eachRow = eachRow;
        boolean isRemote = destination != null && RemoteStore.isRemote(destination);
        this.remote = isRemote ? destination : null;
        if (destination == null) {
            this.announced = null;
            arguments.add("--sink");
            arguments.add("log");
        } else {
            String scheme = RemoteStore.scheme(destination);
            if (!isRemote && !scheme.isEmpty() && !scheme.equals("file")) {
                throw new IOException(destination + ": reports cannot be written to " + scheme);
            }
            this.announced = File.createTempFile("emberscope-reports-", ".json");
            arguments.add("--out");
            arguments.add(Placeholders.times(isRemote ? staging : destination));
            arguments.add("--announce");
            arguments.add(announced.getPath());
        }
        arguments.addAll(more);
    }

    /** As files in a destination; a remote one by way of a local staging directory. */
    static Reports files(SparkConf conf, String destination, String staging, List<String> more) throws IOException {
        return new Reports(conf, destination, staging, null, more);
    }

    /** As lines, which somebody here takes. */
    static Reports rows(SparkConf conf, Consumer<String> eachRow, List<String> more) throws IOException {
        return new Reports(conf, null, null, eachRow, more);
    }

    Outlet open() throws IOException {
        return Follower.start(conf, arguments, eachRow);
    }

    /** SQL that makes views of the reports; empty before their place is known. */
    Set<String> snippets() {
        JsonNode told = told();
        if (told == null) {
            return Collections.emptySet();
        }
        String local = told.path("directory").asText();
        Set<String> snippets = new LinkedHashSet<>();
        for (JsonNode snippet : told.path("snippets")) {
            String text = snippet.asText();
            snippets.add(remote == null ? text : text.replace(local, remoteDirectory(told)));
        }
        return snippets;
    }

    /** Where files stay in the local file system, until they are remote; null before that is known. */
    File directory() {
        JsonNode told = told();
        return told == null ? null : new File(told.path("directory").asText());
    }

    private synchronized JsonNode told() {
        if (told == null && announced != null && announced.length() > 0) {
            try {
                told = new ObjectMapper().readTree(announced);
            } catch (IOException failure) {
                Log.warn("the place of the reports is not known", failure);
            }
        }
        return told;
    }

    private String remoteDirectory(JsonNode told) {
        String application = told.path("applicationId").asText();
        String directory = Placeholders.all(remote, conf, application, told.path("runId").asText());
        if (!Placeholders.tellRunsApart(remote)) {
            String end = directory.endsWith("/") ? "" : "/";
            directory += end + "applicationId=" + application + "/attempt=" + told.path("attempt").asText("0");
        }
        return directory;
    }

    /** Brings finished files to a remote destination. What cannot be copied stays where it is. */
    void promote() {
        JsonNode told = told();
        if (announced != null) {
            announced.delete();
        }
        if (remote == null || told == null) {
            return;
        }
        File[] files = directory().listFiles((dir, name) -> !name.startsWith(".") && name.contains("-reports-"));
        if (files == null) {
            return;
        }
        RemoteStore store = new RemoteStore(conf);
        String to = remoteDirectory(told);
        int kept = 0;
        for (File file : files) {
            try {
                store.copy(file, to, file.getName());
                file.delete();
            } catch (Throwable failure) {
                kept++;
                Log.warn(file + " cannot be copied to " + to + " and stays", failure);
            }
        }
        if (kept == 0) {
            removeStaging();
        }
    }

    private void removeStaging() {
        File dir = directory();
        File[] left = dir.listFiles((parent, name) -> name.startsWith(".emberscope-"));
        for (File file : left == null ? new File[0] : left) {
            file.delete();
        }
        // Only when nothing else is in it.
        dir.delete();
    }
}
