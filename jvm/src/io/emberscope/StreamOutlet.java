package io.emberscope;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/** Any stream of bytes. */
final class StreamOutlet implements Outlet {
    private final OutputStream out;
    private final String name;

    StreamOutlet(OutputStream out, String name) {
        this.out = new BufferedOutputStream(out, 1 << 16);
        this.name = name;
    }

    @Override
    public void write(byte[] line) throws IOException {
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
