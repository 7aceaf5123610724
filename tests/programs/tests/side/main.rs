//! The shipped component `sidechat`, on agents in memory: every sentence about side sessions that needs no real loop.

mod gate;
mod merge;
mod open;
mod promote;
mod rig;
mod withdraw;
