//! One test for each program under `guests/examples`, which holds its sentence; and tests of the host itself.

mod catalog;
mod chain;
mod command;
mod death;
mod decision;
mod gate;
mod host;
mod kept;
mod limit;
mod load;
mod message;
mod policy;
mod read;
mod scope;
mod seam;
mod wasi;

use chain::*;
use command::*;
use death::*;
use decision::*;
use gate::*;
use host::*;
use limit::*;
use message::*;
use policy::*;
use read::*;
use scope::*;
use seam::*;
use wasi::*;

macro_rules! assert_test_exists {
    ($name:ident) => {
        #[expect(unused_imports, reason = "asserts that a test of this name exists")]
        use self::$name as _;
    };
}
program_tests::for_each_program!(assert_test_exists);
