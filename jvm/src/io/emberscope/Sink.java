package io.emberscope;

/**
 * Where reports go, for users' own classes: {@code spark.perfgazer.sink.class} names one with a constructor that takes
 * a {@code SparkConf}. It is called by one thread of ours, never by Spark's.
 */
public interface Sink {
    /**
     * Takes a row.
     *
     * @param kind {@code job}, {@code sql}, {@code stage} or {@code task}
     * @param json the row as a JSON object; a row that changed after it was given is given again, and the last one counts
     */
    void write(String kind, String json);

    /** Nothing more comes. */
    void close();

    /** SQL that makes a view of the rows of a kind; null where there is none. */
    default String viewSnippet(String kind) {
        return null;
    }
}
