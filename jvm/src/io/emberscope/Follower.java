package io.emberscope;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.spark.SparkConf;

/** The program that makes reports of the stream: {@code emberscope follow -}, with low priority. */
final class Follower implements Outlet {
    private final Process process;
    private final StreamOutlet input;
    private final File errors;
    private final Thread rows;

    private Follower(Process process, File errors, Thread rows) {
        this.process = process;
        this.input = new StreamOutlet(process.getOutputStream(), "emberscope follow");
        this.errors = errors;
        this.rows = rows;
    }

    /**
     * Starts it with these arguments after {@code follow -}.
     *
     * @param eachRow takes the lines of its standard output; null where they are of no use.
     */
    static Follower start(SparkConf conf, List<String> arguments, Consumer<String> eachRow) throws IOException {
        List<String> command = new ArrayList<>();
        if (new File("/usr/bin/nice").canExecute()) {
            command.add("/usr/bin/nice");
            command.add("-n");
            command.add("10");
        }
        command.add(binary(conf).getPath());
        command.add("follow");
        command.add("-");
        command.add("--ignore-signals");
        command.add("--no-findings");
        command.add("--quiet");
        command.add("--threads");
        command.add("1");
        command.add("--memory");
        command.add(conf.get("spark.emberscope.follow.memory", "256MiB"));
        command.addAll(arguments);
        File errors = File.createTempFile("emberscope-follow-", ".log");
        ProcessBuilder builder = new ProcessBuilder(command).redirectError(errors);
        if (eachRow == null) {
            builder.redirectOutput(ProcessBuilder.Redirect.appendTo(errors));
        }
        Process process = builder.start();
        Thread rows = null;
        if (eachRow != null) {
            rows = Threads.daemon("emberscope-rows", () -> read(process, eachRow));
            rows.start();
        }
        return new Follower(process, errors, rows);
    }

    /** The program: where the configuration or the environment says, else on the PATH. */
    static File binary(SparkConf conf) throws IOException {
        String named = conf.get("spark.emberscope.binary", System.getenv().getOrDefault("EMBERSCOPE_BIN", ""));
        if (!named.isEmpty()) {
            File file = new File(named);
            if (!file.canExecute()) {
                throw new IOException(named + " cannot be executed");
            }
            return file;
        }
        for (String dir : System.getenv().getOrDefault("PATH", "").split(File.pathSeparator)) {
            File file = new File(dir, "emberscope");
            if (!dir.isEmpty() && file.isFile() && file.canExecute()) {
                return file;
            }
        }
        throw new IOException("no program emberscope on the PATH; spark.emberscope.binary names it");
    }

    private static void read(Process process, Consumer<String> eachRow) {
        try (BufferedReader reader =
            new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                eachRow.accept(line);
            }
        } catch (IOException ended) {
            // It has ended; its exit code tells whether it should have.
        }
    }

    @Override
    public void write(byte[] line) throws IOException {
        input.write(line);
    }

    @Override
    public void flush() throws IOException {
        input.flush();
    }

    @Override
    public void close(long budgetMs) throws IOException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(budgetMs);
        try {
            // When it has ended already, what it said tells more than a broken pipe.
            try {
                input.close(budgetMs);
            } finally {
                await(end, budgetMs);
            }
        } catch (InterruptedException interrupted) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
            return;
        }
        if (process.exitValue() != 0) {
            throw new IOException("exit code " + process.exitValue() + said());
        }
        errors.delete();
    }

    private void await(long end, long budgetMs) throws IOException, InterruptedException {
        if (!process.waitFor(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS)) {
            process.destroyForcibly();
            throw new IOException("not done after " + budgetMs + " ms; its files can be taken over with "
                + "`emberscope report --recover`");
        }
        if (rows != null) {
            rows.join(Math.max(1, TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime())));
        }
    }

    /** The end of what it said on standard error. */
    private String said() {
        try {
            String all = new String(Files.readAllBytes(errors.toPath()), StandardCharsets.UTF_8).trim();
            return all.isEmpty() ? "" : ": " + all.substring(Math.max(0, all.length() - 500)).replace('\n', ' ');
        } catch (IOException unreadable) {
            return "";
        }
    }

    @Override
    public void kill() {
        process.destroyForcibly();
    }

    @Override
    public String name() {
        return input.name();
    }
}
