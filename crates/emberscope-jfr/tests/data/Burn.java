import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;
import jdk.jfr.Event;
import jdk.jfr.Name;

/** A program of which the recordings beside it are: each thread does one thing only. */
public class Burn {
    @Name("test.Task")
    static class Task extends Event {
        long taskId;
        int stageId;
        int stageAttemptId;
        int partitionId;
    }

    static volatile long sink;
    static volatile Object kept;

    static long spin(long rounds) {
        long x = 88172645463325252L;
        for (long i = 0; i < rounds; i++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        return x;
    }

    static void hot() {
        sink = spin(30_000_000);
    }

    static void warm() {
        sink = spin(10_000_000);
    }

    static void burn(long until) {
        long task = 100;
        while (System.nanoTime() < until) {
            Task event = new Task();
            event.begin();
            event.taskId = task++;
            event.stageId = 7;
            event.stageAttemptId = 1;
            event.partitionId = (int) (task % 4);
            hot();
            warm();
            event.commit();
        }
    }

    static void allocate(long until) {
        while (System.nanoTime() < until) {
            for (int i = 0; i < 200; i++) kept = new byte[4096];
            LockSupport.parkNanos(2_000_000);
        }
    }

    static void sleep(long until) throws InterruptedException {
        while (System.nanoTime() < until) Thread.sleep(25);
    }

    static synchronized void contend() throws InterruptedException {
        Thread.sleep(30);
    }

    static void lock(long until) throws InterruptedException {
        while (System.nanoTime() < until) contend();
    }

    static void files(long until) throws Exception {
        Path file = File.createTempFile("burn", ".bin").toPath();
        Files.write(file, new byte[1 << 20]);
        while (System.nanoTime() < until) {
            Files.readAllBytes(file);
            Thread.sleep(100);
        }
        Files.delete(file);
    }

    interface Body {
        void run(long until) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        long until = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000L;
        String[] names = {"burner", "allocator", "sleeper", "locker-1", "locker-2", "reader"};
        Body[] bodies = {Burn::burn, Burn::allocate, Burn::sleep, Burn::lock, Burn::lock, Burn::files};
        Thread[] threads = new Thread[names.length];
        for (int i = 0; i < names.length; i++) {
            Body body = bodies[i];
            threads[i] = new Thread(() -> {
                try {
                    body.run(until);
                } catch (Exception e) {
                    throw new RuntimeException(e);
                }
            }, names[i]);
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
    }
}
