//! How the engine is set up: one cache and one budget of unwritten rows for all stores of a
//! process.
//!
//! Each choice was measured side by side on rows like ours; see docs/decisions. Invariant: indexes
//! and filters are parted and live in the cache, so that memory is what the operator gave.

use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, Cache, DBCompressionType, Options, SliceTransform,
    WriteBufferManager,
};

use super::TableSpec;

/// The memory that all stores of a process share.
#[derive(Clone)]
pub struct Memory {
    cache: Cache,
    buffers: WriteBufferManager,
}

impl Memory {
    /// Memory for `cache_bytes` of rows that were read and `buffer_bytes` of rows that are not
    /// yet in files.
    pub fn new(cache_bytes: usize, buffer_bytes: usize) -> Memory {
        let cache = Cache::new_lru_cache(cache_bytes);
        let buffers = WriteBufferManager::new_write_buffer_manager(buffer_bytes, false);
        Memory { cache, buffers }
    }
}

impl Default for Memory {
    /// 256 MiB of cache and 128 MiB of rows that are not yet in files.
    fn default() -> Memory {
        Memory::new(256 << 20, 128 << 20)
    }
}

/// The whole store.
pub(super) fn of_store(memory: &Memory) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_write_buffer_manager(&memory.buffers);
    options.set_max_total_wal_size(256 << 20);
    options.set_max_background_jobs(2);
    options.set_max_open_files(1024);
    options.set_keep_log_file_num(2);
    options.set_max_log_file_size(4 << 20);
    options.set_bytes_per_sync(1 << 20);
    options
}

/// One table.
pub(super) fn of_table(spec: &TableSpec, memory: &Memory) -> Options {
    let mut options = Options::default();
    options.set_block_based_table_factory(&blocks(spec, memory));
    options.set_compression_type(match spec.dense {
        true => DBCompressionType::None,
        false => DBCompressionType::Lz4,
    });
    options.set_write_buffer_size(32 << 20);
    options.set_target_file_size_base(128 << 20);
    options.set_max_bytes_for_level_base(512 << 20);
    options.set_level_compaction_dynamic_level_bytes(true);
    if spec.prefix > 0 {
        options.set_prefix_extractor(SliceTransform::create_fixed_prefix(spec.prefix));
    }
    if spec.queue {
        // A run of rows that are gone is compacted away before scans have to walk over it.
        options.add_compact_on_deletion_collector_factory(4096, 2048, 0.5);
    }
    options
}

fn blocks(spec: &TableSpec, memory: &Memory) -> BlockBasedOptions {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(&memory.cache);
    blocks.set_block_size(4 << 10);
    blocks.set_format_version(6);
    blocks.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    blocks.set_cache_index_and_filter_blocks(true);
    blocks.set_pin_top_level_index_and_filter(true);
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(true);
    if spec.by_key || spec.prefix > 0 {
        blocks.set_bloom_filter(10.0, false);
        blocks.set_partition_filters(true);
        blocks.set_whole_key_filtering(spec.by_key);
    }
    blocks
}
