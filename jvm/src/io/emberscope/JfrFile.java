package io.emberscope;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Wall-clock samples as a file of Java Flight Recorder with one chunk. */
final class JfrFile {
    private static final int LONG = 1;
    private static final int INT = 2;
    private static final int BOOLEAN = 3;
    private static final int STRING = 4;
    private static final int THREAD = 5;
    private static final int STACK_TRACE = 6;
    private static final int STACK_FRAME = 7;
    private static final int METHOD = 8;
    private static final int CLASS = 9;
    private static final int SYMBOL = 10;
    private static final int STATE = 11;
    private static final int FRAME_TYPE = 12;
    private static final int SAMPLE = 20;
    private static final int HEADER_BYTES = 68;

    private final long startEpochNanos = System.currentTimeMillis() * 1_000_000;
    private final long startTicks = System.nanoTime();
    private final JfrBytes samples = new JfrBytes();
    private final Map<List<StackTraceElement>, Integer> stacks = new LinkedHashMap<>();
    private final Map<String, Integer> symbols = new LinkedHashMap<>();
    private final Map<String, Integer> classes = new LinkedHashMap<>();
    private final Map<List<String>, Integer> methods = new LinkedHashMap<>();
    private final Map<Long, String> threads = new LinkedHashMap<>();
    private final Map<String, Integer> states = new LinkedHashMap<>();

    private static <K> int key(Map<K, Integer> pool, K value) {
        Integer known = pool.get(value);
        if (known == null) {
            known = pool.size() + 1;
            pool.put(value, known);
        }
        return known;
    }

    /** Adds a sample taken now. */
    void sample(long threadId, String threadName, String state, StackTraceElement[] stack) {
        threads.put(threadId, threadName);
        samples.add(new JfrBytes()
            .number(SAMPLE)
            .number(System.nanoTime())
            .number(threadId)
            .number(key(stacks, Arrays.asList(stack)))
            .number(key(states, state))
            .number(1)
            .record());
    }

    void write(Path path) throws IOException {
        long durationNanos = System.nanoTime() - startTicks;
        byte[] metadata = metadata();
        byte[] events = samples.bytes();
        byte[] pools = pools();
        long poolsAt = HEADER_BYTES + metadata.length + events.length;
        byte[] header = new JfrBytes()
            .raw('F').raw('L').raw('R').raw(0)
            .fixed(2, 2).fixed(1, 2)
            .fixed(poolsAt + pools.length, 8)
            .fixed(poolsAt, 8)
            .fixed(HEADER_BYTES, 8)
            .fixed(startEpochNanos, 8)
            .fixed(durationNanos, 8)
            .fixed(startTicks, 8)
            .fixed(1_000_000_000, 8)
            .fixed(1, 4)
            .bytes();
        try (OutputStream out = Files.newOutputStream(path)) {
            out.write(header);
            out.write(metadata);
            out.write(events);
            out.write(pools);
        }
    }

    /** Pools of what samples refer to. Each looks up keys in those that follow it. */
    private byte[] pools() {
        JfrBytes stackPool = new JfrBytes().number(STACK_TRACE).number(stacks.size());
        stacks.forEach((stack, key) -> {
            stackPool.number(key).raw(0).number(stack.size());
            for (StackTraceElement frame : stack) {
                int method = key(methods, Arrays.asList(frame.getClassName(), frame.getMethodName()));
                stackPool.number(method).number(Math.max(0, frame.getLineNumber())).number(0);
                stackPool.number(frame.isNativeMethod() ? 2 : 1);
            }
        });
        JfrBytes methodPool = new JfrBytes().number(METHOD).number(methods.size());
        methods.forEach((method, key) -> {
            int name = key(symbols, method.get(1));
            // Java does not tell it, and other readers insist.
            int descriptor = key(symbols, "()V");
            methodPool.number(key).number(key(classes, method.get(0))).number(name).number(descriptor);
            methodPool.number(0).raw(0);
        });
        JfrBytes classPool = new JfrBytes().number(CLASS).number(classes.size());
        classes.forEach((name, key) -> classPool.number(key).number(key(symbols, name.replace('.', '/'))));
        JfrBytes symbolPool = new JfrBytes().number(SYMBOL).number(symbols.size());
        symbols.forEach((text, key) -> symbolPool.number(key).text(text));
        JfrBytes threadPool = new JfrBytes().number(THREAD).number(threads.size());
        threads.forEach((id, name) -> threadPool.number(id).text(name).number(0).text(name).number(id));
        JfrBytes statePool = new JfrBytes().number(STATE).number(states.size());
        states.forEach((name, key) -> statePool.number(key).text(name));
        JfrBytes typePool = new JfrBytes().number(FRAME_TYPE).number(2);
        typePool.number(1).text("Interpreted").number(2).text("Native");
        JfrBytes all = new JfrBytes().number(1).number(startTicks).number(0).number(0).raw(1).number(7);
        List<JfrBytes> pools =
            Arrays.asList(stackPool, methodPool, classPool, symbolPool, threadPool, statePool, typePool);
        pools.forEach(pool -> all.add(pool.bytes()));
        return all.record();
    }

    private static byte[] metadata() {
        Element types = new Element("metadata");
        for (String[] primitive : new String[][] {
            {"long", "" + LONG}, {"int", "" + INT}, {"boolean", "" + BOOLEAN}, {"java.lang.String", "" + STRING}}) {
            types.add(new Element("class").with("name", primitive[0]).with("id", primitive[1]));
        }
        types.add(type("java.lang.Thread", THREAD)
            .add(field("osName", STRING)).add(field("osThreadId", LONG))
            .add(field("javaName", STRING)).add(field("javaThreadId", LONG)));
        types.add(type("jdk.types.StackTrace", STACK_TRACE)
            .add(field("truncated", BOOLEAN)).add(field("frames", STACK_FRAME).with("dimension", "1")));
        types.add(type("jdk.types.StackFrame", STACK_FRAME)
            .add(reference("method", METHOD)).add(field("lineNumber", INT))
            .add(field("bytecodeIndex", INT)).add(reference("type", FRAME_TYPE)));
        types.add(type("jdk.types.Method", METHOD)
            .add(reference("type", CLASS)).add(reference("name", SYMBOL)).add(reference("descriptor", SYMBOL))
            .add(field("modifiers", INT)).add(field("hidden", BOOLEAN)));
        types.add(type("java.lang.Class", CLASS).add(reference("name", SYMBOL)));
        // What has one field stands for it, as other readers want it.
        types.add(type("jdk.types.Symbol", SYMBOL).with("simpleType", "true").add(field("string", STRING)));
        types.add(type("jdk.types.ThreadState", STATE).with("simpleType", "true").add(field("name", STRING)));
        types.add(type("jdk.types.FrameType", FRAME_TYPE).with("simpleType", "true").add(field("description", STRING)));
        types.add(type("io.emberscope.WallClockSample", SAMPLE).with("superType", "jdk.jfr.Event")
            .add(field("startTime", LONG)).add(reference("sampledThread", THREAD))
            .add(reference("stackTrace", STACK_TRACE)).add(reference("state", STATE)).add(field("samples", INT)));
        Element region = new Element("region").with("locale", "en_US").with("gmtOffset", "0");
        Element root = new Element("root").add(types).add(region);
        Map<String, Integer> strings = new LinkedHashMap<>();
        JfrBytes tree = new JfrBytes();
        root.write(tree, strings);
        JfrBytes all = new JfrBytes().number(0).number(0).number(0).number(1).number(strings.size());
        strings.keySet().forEach(all::text);
        return all.add(tree.bytes()).record();
    }

    private static Element type(String name, int id) {
        return new Element("class").with("name", name).with("id", "" + id);
    }

    private static Element field(String name, int type) {
        return new Element("field").with("name", name).with("class", "" + type);
    }

    private static Element reference(String name, int type) {
        return field(name, type).with("constantPool", "true");
    }

    /** An element of the metadata's tree. */
    private static final class Element {
        private final String name;
        private final Map<String, String> attributes = new LinkedHashMap<>();
        private final List<Element> children = new ArrayList<>();

        Element(String name) {
            this.name = name;
        }

        Element with(String key, String value) {
            attributes.put(key, value);
            return this;
        }

        Element add(Element child) {
            children.add(child);
            return this;
        }

        void write(JfrBytes to, Map<String, Integer> strings) {
            to.number(index(strings, name)).number(attributes.size());
            attributes.forEach((key, value) -> to.number(index(strings, key)).number(index(strings, value)));
            to.number(children.size());
            children.forEach(child -> child.write(to, strings));
        }

        private static int index(Map<String, Integer> strings, String text) {
            Integer known = strings.get(text);
            if (known == null) {
                known = strings.size();
                strings.put(text, known);
            }
            return known;
        }
    }
}
