package io.emberscope;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** Bytes as Java Flight Recorder's files have them. */
final class JfrBytes {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    /** A number of variable length: seven bits a byte, and all eight of the ninth. */
    JfrBytes number(long value) {
        long rest = value;
        for (int n = 0; n < 8; n++) {
            if ((rest & ~0x7FL) == 0) {
                out.write((int) rest);
                return this;
            }
            out.write((int) (rest & 0x7F) | 0x80);
            rest >>>= 7;
        }
        out.write((int) rest);
        return this;
    }

    JfrBytes raw(int value) {
        out.write(value);
        return this;
    }

    /** A number of fixed length, highest byte first. */
    JfrBytes fixed(long value, int bytes) {
        for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
            out.write((int) (value >>> shift));
        }
        return this;
    }

    JfrBytes text(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        raw(3).number(bytes.length);
        out.write(bytes, 0, bytes.length);
        return this;
    }

    JfrBytes add(byte[] bytes) {
        out.write(bytes, 0, bytes.length);
        return this;
    }

    /** These bytes as a record: their length, the length's own included, goes first. */
    byte[] record() {
        byte[] payload = bytes();
        int length = payload.length + 1;
        JfrBytes size = new JfrBytes().number(length);
        while (size.size() + payload.length != length) {
            length = size.size() + payload.length;
            size = new JfrBytes().number(length);
        }
        return size.add(payload).bytes();
    }

    int size() {
        return out.size();
    }

    byte[] bytes() {
        return out.toByteArray();
    }
}
