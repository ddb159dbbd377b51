package io.emberscope;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;

/** Where the lines of the event stream go. Used by one thread. */
interface Outlet {
    void write(byte[] line) throws IOException;

    void flush() throws IOException;

    /** Ends it, within so many milliseconds. */
    void close(long budgetMs) throws IOException;

    /** Ends it at once, for who waits for a write that does not return. */
    default void kill() {}

    /** For messages. */
    String name();

    /** A file of limited size, which is a log that Emberscope reads like Spark's own. */
    static Outlet file(File file, long mostBytes) throws IOException {
        File dir = file.getAbsoluteFile().getParentFile();
        if (dir != null) {
            Files.createDirectories(dir.toPath());
        }
        OutputStream out = Files.newOutputStream(
            file.toPath(), StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING);
        return new StreamOutlet(out, file.getPath(), mostBytes);
    }

    /** A connection to whoever listens there, such as {@code nc -l | emberscope follow -}. */
    static Outlet socket(String host, int port) throws IOException {
        Socket socket = new Socket();
        socket.connect(new InetSocketAddress(host, port), 5_000);
        return new StreamOutlet(socket.getOutputStream(), host + ":" + port);
    }
}
