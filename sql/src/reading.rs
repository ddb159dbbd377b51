//! How bytes of Parquet files are read: in place.
//!
//! The engine's own way asks another thread for every piece of every file, which for hundreds of small files takes
//! longer than reading them.

use bytes::Bytes;
use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::ParquetFileReaderFactory;
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use datafusion::execution::cache::cache_manager::FileMetadataCache;
use datafusion::object_store::ObjectStore;
use datafusion::object_store::local::LocalFileSystem;
use datafusion::parquet::arrow::arrow_reader::ArrowReaderOptions;
use datafusion::parquet::arrow::async_reader::AsyncFileReader;
use datafusion::parquet::errors::{ParquetError, Result as ParquetResult};
use datafusion::parquet::file::metadata::ParquetMetaData;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};
use futures::FutureExt;
use futures::future::BoxFuture;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes between two pieces that are read with them.
const GAP_BYTES: u64 = 64 << 10;

/// Reads local files in the thread that needs them.
#[derive(Debug)]
pub(crate) struct InPlace {
    store: Arc<dyn ObjectStore>,
    /// Footers that were read before.
    footers: Arc<FileMetadataCache>,
}

impl InPlace {
    pub(crate) fn new(store: Arc<dyn ObjectStore>, footers: Arc<FileMetadataCache>) -> Self {
        InPlace { store, footers }
    }
}

impl ParquetFileReaderFactory for InPlace {
    fn create_reader(
        &self,
        partition: usize,
        file: PartitionedFile,
        _: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        Ok(Box::new(Reader {
            path: LocalFileSystem::new().path_to_filesystem(&file.object_meta.location)?,
            opened: None,
            read: MetricBuilder::new(metrics).counter("bytes_read", partition),
            store: Arc::clone(&self.store),
            footers: Arc::clone(&self.footers),
            file,
        }))
    }
}

struct Reader {
    path: PathBuf,
    opened: Option<File>,
    read: Count,
    store: Arc<dyn ObjectStore>,
    footers: Arc<FileMetadataCache>,
    file: PartitionedFile,
}

impl Reader {
    /// Pieces of the file. Those that are near each other are read in one go.
    fn pieces(&mut self, ranges: &[Range<u64>]) -> std::io::Result<Vec<Bytes>> {
        let mut order: Vec<usize> = (0..ranges.len()).collect();
        order.sort_by_key(|n| ranges[*n].start);
        let mut pieces = vec![Bytes::new(); ranges.len()];
        let mut rest = order.as_slice();
        while let Some(first) = rest.first() {
            let start = ranges[*first].start;
            let mut end = ranges[*first].end;
            let mut count = 1;
            while let Some(next) = rest.get(count).filter(|next| ranges[**next].start <= end + GAP_BYTES) {
                end = end.max(ranges[*next].end);
                count += 1;
            }
            let whole = self.piece(start..end)?;
            let (near, others) = rest.split_at(count);
            for n in near {
                let place = |at: u64| (at - start) as usize;
                pieces[*n] = whole.slice(place(ranges[*n].start)..place(ranges[*n].end));
            }
            rest = others;
        }
        Ok(pieces)
    }

    fn piece(&mut self, range: Range<u64>) -> std::io::Result<Bytes> {
        let file = match &mut self.opened {
            Some(file) => file,
            None => self.opened.insert(File::open(&self.path)?),
        };
        let length = range.end.saturating_sub(range.start);
        file.seek(SeekFrom::Start(range.start))?;
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        file.take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != length {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        self.read.add(bytes.len());
        Ok(bytes.into())
    }

    fn told(&self, error: std::io::Error) -> ParquetError {
        ParquetError::External(format!("{}: cannot be read: {error}", self.path.display()).into())
    }
}

impl AsyncFileReader for Reader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        let piece = self.piece(range);
        std::future::ready(piece.map_err(|error| self.told(error))).boxed()
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        let pieces = self.pieces(&ranges);
        std::future::ready(pieces.map_err(|error| self.told(error))).boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        async move {
            DFParquetMetadata::new(&self.store, &self.file.object_meta)
                .with_file_metadata_cache(Some(Arc::clone(&self.footers)))
                .with_page_index_policy(options.map(ArrowReaderOptions::column_index_policy))
                .fetch_metadata()
                .await
                .map_err(|error| ParquetError::External(Box::new(error)))
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::execution::cache::cache_manager::CacheManagerConfig;
    use datafusion::object_store::ObjectMeta;
    use datafusion::object_store::path::Path as StorePath;

    #[test]
    fn pieces_come_in_the_order_asked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a file");
        let bytes: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let meta = ObjectMeta {
            location: StorePath::from_absolute_path(&path).unwrap(),
            last_modified: Default::default(),
            size: bytes.len() as u64,
            e_tag: None,
            version: None,
        };
        let store: Arc<dyn ObjectStore> = Arc::new(LocalFileSystem::new());
        let manager = datafusion::execution::cache::cache_manager::CacheManager::try_new(
            &CacheManagerConfig::default(),
        );
        let factory = InPlace::new(store, manager.unwrap().get_file_metadata_cache());
        let metrics = ExecutionPlanMetricsSet::new();
        let mut reader =
            factory.create_reader(0, PartitionedFile::new_from_meta(meta), None, &metrics).unwrap();
        let ranges = vec![290_000..300_000, 5..9, 0..3, 7..20, 150_000..150_000];
        let pieces = futures::executor::block_on(reader.get_byte_ranges(ranges.clone())).unwrap();
        for (range, piece) in ranges.iter().zip(pieces) {
            assert_eq!(piece, bytes[range.start as usize..range.end as usize]);
        }
        let beyond = futures::executor::block_on(reader.get_bytes(299_999..300_001));
        assert!(beyond.unwrap_err().to_string().contains("a file: cannot be read"));
    }
}
