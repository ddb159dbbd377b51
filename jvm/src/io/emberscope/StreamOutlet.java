package io.emberscope;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/** Any stream of bytes. */
final class StreamOutlet implements Outlet {
    private final OutputStream out;
    private final String name;
    private final long mostBytes;
    private long bytes;

    StreamOutlet(OutputStream out, String name) {
        this(out, name, Long.MAX_VALUE);
    }

    /** One that takes so many bytes, and then no more. */
    StreamOutlet(OutputStream out, String name, long mostBytes) {
        this.out = new BufferedOutputStream(out, 1 << 16);
        this.name = name;
        this.mostBytes = mostBytes;
    }

    @Override
    public void write(byte[] line) throws IOException {
        if (line.length > mostBytes - bytes) {
            throw new IOException(name + " has the " + mostBytes + " bytes that it may have");
        }
        bytes += line.length;
        out.write(line);
    }

    @Override
    public void flush() throws IOException {
        out.flush();
    }

    @Override
    public void close(long budgetMs) throws IOException {
        out.close();
    }

    @Override
    public String name() {
        return name;
    }
}
