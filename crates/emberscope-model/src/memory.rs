//! Memory that an executor is given by its cluster: what it costs, whatever it uses.
//!
//! Where the cluster gives containers (YARN, Kubernetes), the container is what is paid for: heap, overhead,
//! off-heap memory and Python's. Without a container nothing but the processes themselves holds memory, and nothing
//! limits what lies beside the heap:
//!
//! * a standalone worker (`spark://`, `local-cluster[…]`) counts heaps; an overhead and a limit of Python's memory
//!   are settings that it does not look at, so that an executor's memory is its heap and its off-heap memory;
//! * in local mode (`local`, `local[N]`, `local[N,F]`) the driver is the executor: its heap is `spark.driver.memory`,
//!   whatever `spark.executor.memory` and the resource profile say.

use crate::run::{Executor, Run};

/// Heap where no setting says: `spark.executor.memory` and `spark.driver.memory`.
const DEFAULT_HEAP_BYTES: i64 = 1 << 30;
/// Least overhead before `spark.executor.minMemoryOverhead` (4.0) made it a setting: a constant of Spark.
const SMALLEST_OVERHEAD_BYTES: i64 = 384 << 20;
/// Share of the heap before `spark.executor.memoryOverheadFactor` (3.3): a constant of Spark.
const OVERHEAD_FACTOR: f64 = 0.1;

/// Memory of an executor, by its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutorMemory {
    /// Heap, bytes.
    pub heap_bytes: i64,
    /// What a container holds beside all else, bytes; 0 without a container.
    pub overhead_bytes: i64,
    /// Off-heap memory that Spark manages, bytes.
    pub off_heap_bytes: i64,
    /// Limit of Python's memory, bytes; 0 where there is none, and without a container.
    pub python_bytes: i64,
    /// Where the heap, its largest part, is from.
    pub basis: Basis,
}

impl ExecutorMemory {
    /// All of it, bytes: the size of the container, or without one what its process may take.
    pub fn bytes(&self) -> i64 {
        let parts = [self.overhead_bytes, self.off_heap_bytes, self.python_bytes];
        parts.into_iter().fold(self.heap_bytes, i64::saturating_add)
    }
}

/// What a memory rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The executor's resource profile in the log.
    Profile,
    /// Settings in the log.
    Settings,
    /// Spark's default, since the log has no setting.
    Default,
    /// The driver's settings, or their default: in local mode it is the executor.
    Driver,
}

impl Basis {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Basis::Profile => "resource profile",
            Basis::Settings => "configuration",
            Basis::Default => "Spark's default",
            Basis::Driver => "driver's configuration (local mode)",
        }
    }
}

/// `64m`, `1g`, `512k`, `10485760b` as bytes; a bare number is in units of `bare` bytes. Negative ones, which
/// switch off, stay negative.
pub fn parse_bytes(text: &str, bare: i64) -> Option<i64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
    let number: i64 = text[..digits].parse().ok()?;
    let factor = match text[digits..].trim() {
        "" => bare,
        "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        "p" | "pb" | "pib" => 1 << 50,
        _ => return None,
    };
    number.checked_mul(factor)
}

impl Run {
    /// Whether driver and tasks share one JVM: a master of `local`, `local[N]` or `local[N,F]`.
    pub fn is_local_mode(&self) -> bool {
        let master = self.spark_property("spark.master").unwrap_or("");
        master == "local" || master.starts_with("local[")
    }

    /// Whether executors run in containers of a given size, as far as the log tells: they do unless the master is
    /// local or standalone.
    pub fn has_containers(&self) -> bool {
        let master = self.spark_property("spark.master").unwrap_or("");
        !self.is_local_mode() && !master.starts_with("spark://") && !master.starts_with("local-cluster[")
    }

    /// Memory that an executor is given: of its resource profile, else of the settings, else Spark's default.
    pub fn executor_memory(&self, executor: &Executor) -> ExecutorMemory {
        if self.is_local_mode() {
            return ExecutorMemory {
                heap_bytes: self.mebibytes("spark.driver.memory").unwrap_or(DEFAULT_HEAP_BYTES),
                overhead_bytes: 0,
                off_heap_bytes: self.off_heap_setting(),
                python_bytes: 0,
                basis: Basis::Driver,
            };
        }
        // Profiles give mebibytes.
        let profile = self.resource_profiles.get(&executor.resource_profile_id);
        let requested = |name: &str| {
            let amount = profile?.executor.get(name)?.amount;
            (amount > 0.0).then_some((amount * f64::from(1 << 20)) as i64)
        };
        let (heap_bytes, basis) = match (requested("memory"), self.mebibytes("spark.executor.memory")) {
            (Some(heap), _) => (heap, Basis::Profile),
            (None, Some(heap)) => (heap, Basis::Settings),
            (None, None) => (DEFAULT_HEAP_BYTES, Basis::Default),
        };
        let (overhead_bytes, python_bytes) = if self.has_containers() {
            let overhead = requested("memoryOverhead")
                .or_else(|| self.mebibytes("spark.executor.memoryOverhead"))
                .or_else(|| self.mebibytes("spark.yarn.executor.memoryOverhead"))
                .unwrap_or_else(|| self.default_overhead_bytes(heap_bytes));
            let python =
                requested("pyspark.memory").or_else(|| self.mebibytes("spark.executor.pyspark.memory"));
            (overhead, python.unwrap_or(0))
        } else {
            (0, 0)
        };
        let off_heap_bytes = requested("offHeap").unwrap_or_else(|| self.off_heap_setting());
        ExecutorMemory { heap_bytes, overhead_bytes, off_heap_bytes, python_bytes, basis }
    }

    /// Overhead that Spark adds to a heap in a container where none is set, bytes: a share of the heap, at least
    /// a minimum.
    pub fn default_overhead_bytes(&self, heap_bytes: i64) -> i64 {
        let least = self.spark_property("spark.executor.minMemoryOverhead");
        let least = least.and_then(|text| parse_bytes(text, 1 << 20)).unwrap_or(SMALLEST_OVERHEAD_BYTES);
        let factor = ["spark.executor.memoryOverheadFactor", "spark.kubernetes.memoryOverheadFactor"]
            .iter()
            .find_map(|name| self.spark_property(name)?.trim().parse::<f64>().ok())
            .filter(|factor| factor.is_finite() && *factor >= 0.0)
            .unwrap_or(OVERHEAD_FACTOR);
        least.max((heap_bytes as f64 * factor) as i64)
    }

    /// A memory of the settings, bytes, whose bare numbers are mebibytes.
    fn mebibytes(&self, name: &str) -> Option<i64> {
        self.spark_property(name).and_then(|text| parse_bytes(text, 1 << 20)).filter(|bytes| *bytes > 0)
    }

    /// Off-heap memory of the settings, bytes; 0 where it is off.
    fn off_heap_setting(&self) -> i64 {
        let is_on = self
            .spark_property("spark.memory.offHeap.enabled")
            .is_some_and(|text| text.trim().eq_ignore_ascii_case("true"));
        let size = self.spark_property("spark.memory.offHeap.size");
        size.filter(|_| is_on).and_then(|text| parse_bytes(text, 1)).map_or(0, |bytes| bytes.max(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use emberscope_log::event::app::{ResourceProfileAdded, ResourceRequest};
    use emberscope_log::event::lenient::TextOrJson;

    const MIB: i64 = 1 << 20;

    fn run(settings: &[(&str, &str)]) -> Run {
        let mut run = Run::default();
        for (key, value) in settings {
            run.environment.spark.insert((*key).to_owned(), TextOrJson(Some((*value).to_owned())));
        }
        run
    }

    fn memory(settings: &[(&str, &str)], requests: &[(&str, f64)]) -> (i64, Basis) {
        let mut run = run(settings);
        if !requests.is_empty() {
            let mut profile = ResourceProfileAdded::default();
            for (name, amount) in requests {
                let request = ResourceRequest { amount: *amount, ..ResourceRequest::default() };
                profile.executor.insert((*name).to_owned(), request);
            }
            run.resource_profiles.insert(0, profile);
        }
        let memory = run.executor_memory(&Executor::default());
        (memory.bytes() / MIB, memory.basis)
    }

    #[test]
    fn memory_is_of_profile_then_settings_then_default() {
        let yarn = ("spark.master", "yarn");
        let heap = ("spark.executor.memory", "8g");
        assert_eq!(memory(&[yarn], &[]), (1024 + 384, Basis::Default));
        assert_eq!(memory(&[yarn, heap], &[]), (8192 + 819, Basis::Settings));
        let overhead = ("spark.executor.memoryOverhead", "2048");
        assert_eq!(memory(&[yarn, heap, overhead], &[]), (8192 + 2048, Basis::Settings));
        let factor = ("spark.executor.memoryOverheadFactor", "0.4");
        assert_eq!(memory(&[yarn, heap, factor], &[]), (8192 + 3276, Basis::Settings));
        let requests = [("memory", 4096.0), ("memoryOverhead", 512.0), ("offHeap", 1024.0)];
        assert_eq!(memory(&[yarn, heap, overhead], &requests), (4096 + 512 + 1024, Basis::Profile));
        let off_heap = [
            yarn,
            heap,
            overhead,
            ("spark.memory.offHeap.enabled", "true"),
            ("spark.memory.offHeap.size", "1g"),
        ];
        assert_eq!(memory(&off_heap, &[]), (8192 + 2048 + 1024, Basis::Settings));
        let python = ("spark.executor.pyspark.memory", "1g");
        assert_eq!(memory(&[yarn, heap, overhead, python], &[]), (8192 + 2048 + 1024, Basis::Settings));
    }

    #[test]
    fn without_containers_there_is_no_overhead() {
        let heap = ("spark.executor.memory", "8g");
        let ignored = [
            heap,
            ("spark.executor.memoryOverhead", "2g"),
            ("spark.executor.pyspark.memory", "1g"),
            ("spark.memory.offHeap.enabled", "true"),
            ("spark.memory.offHeap.size", "1g"),
        ];
        let requests = [("memory", 4096.0), ("memoryOverhead", 512.0), ("pyspark.memory", 256.0)];
        for master in ["spark://host:7077", "local-cluster[2,1,1024]"] {
            let master = ("spark.master", master);
            assert_eq!(memory(&[master, heap], &[]), (8192, Basis::Settings));
            let settings: Vec<_> = [master].into_iter().chain(ignored).collect();
            assert_eq!(memory(&settings, &[]), (8192 + 1024, Basis::Settings));
            assert_eq!(memory(&settings, &requests), (4096 + 1024, Basis::Profile));
        }
        let driver = ("spark.driver.memory", "3g");
        let local = ("spark.master", "local[4]");
        assert_eq!(memory(&[local, heap, driver], &[]), (3072, Basis::Driver));
        assert_eq!(memory(&[local, heap, driver], &requests), (3072, Basis::Driver));
        assert_eq!(memory(&[("spark.master", "local")], &[]), (1024, Basis::Driver));
    }

    #[test]
    fn masters_that_give_containers() {
        let with = |master: &str| run(&[("spark.master", master)]).has_containers();
        for master in ["yarn", "yarn-client", "k8s://https://host:6443", "mesos://host:5050", ""] {
            assert!(with(master), "{master}");
        }
        for master in ["spark://host:7077", "local", "local[*]", "local[2,3]", "local-cluster[2,1,1024]"] {
            assert!(!with(master), "{master}");
        }
        assert!(!run(&[("spark.master", "local-cluster[2,1,1024]")]).is_local_mode());
    }
}
