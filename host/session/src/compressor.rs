//! Frames as dsh writes them: at its level, with a checksum and without their content's size.

use std::fmt;
use std::io;

use zstd::stream::raw::{CParameter, Encoder, InBuffer, Operation as _, OutBuffer};

/// What dsh writes.
const LEVEL: i32 = 3;

/// Bytes that leave the encoder at once.
const PIECE: usize = 1 << 15;

/// Makes one frame after the other; its tables, which take longer to make than a small frame, are made once.
pub(crate) struct Compressor {
    encoder: Encoder<'static>,
    output: Vec<u8>,
}

impl Compressor {
    pub(crate) fn new() -> io::Result<Self> {
        let mut encoder = Encoder::new(LEVEL)?;
        encoder.set_parameter(CParameter::ChecksumFlag(true))?;
        Ok(Self { encoder, output: vec![0; PIECE] })
    }

    /// One frame that holds `content`.
    pub(crate) fn frame(&mut self, content: &[u8]) -> io::Result<Vec<u8>> {
        let Self { encoder, output } = self;
        encoder.reinit()?;
        let mut frame = Vec::with_capacity(content.len() / 4 + 64);
        let mut input = InBuffer::around(content);
        while input.pos() < content.len() {
            let mut room = OutBuffer::around(output.as_mut_slice());
            encoder.run(&mut input, &mut room)?;
            frame.extend_from_slice(room.as_slice());
        }
        loop {
            let mut room = OutBuffer::around(output.as_mut_slice());
            let left = encoder.finish(&mut room, true)?;
            frame.extend_from_slice(room.as_slice());
            if left == 0 {
                return Ok(frame);
            }
        }
    }
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compressor").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_does_not_depend_on_those_before_it() {
        let mut compressor = Compressor::new().unwrap();
        let contents = [&b"one frame\n"[..], b"", &b"a longer one, ".repeat(9000), b"one frame\n"];
        for content in contents {
            let frame = compressor.frame(content).unwrap();
            assert_eq!(frame, Compressor::new().unwrap().frame(content).unwrap());
            assert_eq!(zstd::decode_all(&frame[..]).unwrap(), content);
        }
    }
}
