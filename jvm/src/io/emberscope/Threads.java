package io.emberscope;

import java.util.concurrent.ThreadFactory;

/** Threads that keep no JVM alive. */
final class Threads {
    private Threads() {}

    static ThreadFactory daemons(String name) {
        return work -> daemon(name, work);
    }

    static Thread daemon(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        return thread;
    }
}
