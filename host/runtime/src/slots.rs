//! The slots that calls run in: memories, tables and stacks, kept from one call to the next.
//!
//! Every call has a fresh instance. What is expensive about it is not the instance but the memory under it: to map
//! it, to fault its pages in, and to take it apart again. A slot stays mapped; between two calls the pages that the
//! guest touched are set back to what the component says, and no other plugin's call finds anything there.

use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

/// Memories and tables of one component: what a state allows.
pub(crate) const MEMORIES: u32 = 16;
pub(crate) const TABLES: u32 = 200;

/// Elements that a table has room for, the most that a grant can reach.
const TABLE_ELEMENTS: usize = 1 << 20;

/// Bytes of a memory that stay mapped between two calls; what a guest touched beyond is given back.
const RESIDENT_BYTES: usize = 256 << 10;

/// Slots that keep what they have mapped; when there are more, the longest unused give it back.
const WARM: u32 = 64;

/// An engine with slots for so many calls at one time, or without where the system does not give it the address
/// space: 4 GiB for each memory.
pub(crate) fn engine(config: &mut Config, calls: u32) -> wasmtime::Result<Engine> {
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(slots(calls)));
    Engine::new(config).or_else(|_| {
        config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
        Engine::new(config)
    })
}

fn slots(calls: u32) -> PoolingAllocationConfig {
    let mut slots = PoolingAllocationConfig::new();
    slots.total_stacks(calls);
    // Most components have one memory, and three tables: their own, and two of the code that links them.
    slots.total_memories(calls.saturating_mul(2));
    slots.total_tables(calls.saturating_mul(4));
    slots.table_elements(TABLE_ELEMENTS);
    // Mere counts. What one component may have of each is checked where its state is.
    slots.total_component_instances(u32::MAX);
    slots.total_core_instances(u32::MAX);
    slots.max_memories_per_component(MEMORIES);
    slots.max_memories_per_module(MEMORIES);
    slots.max_tables_per_component(TABLES);
    slots.max_tables_per_module(TABLES);
    slots.max_unused_warm_slots(WARM);
    // Where the kernel says which pages were touched, they alone are set back, and the next call faults none of them
    // in. Setting back the first pages whether touched or not costs more than it saves.
    if PoolingAllocationConfig::is_pagemap_scan_available() {
        slots.pagemap_scan(Enabled::Yes);
        slots.linear_memory_keep_resident(RESIDENT_BYTES);
        slots.table_keep_resident(RESIDENT_BYTES);
    }
    slots
}
