//! Zstandard frames of a log: where each lies, and whether the last one is torn (contracts §1.5).

use std::io::{self, Read, Seek};

use thiserror::Error;
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

const MAGIC: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();

/// The largest window that readers grant: 128 MiB. A frame that asks for more is refused, not served.
const WINDOW_LOG_MAX: u32 = 27;

/// Bytes that leave the decoder at once.
const PIECE: usize = 1 << 17;

/// A file of fewer bytes needs no large buffers, which cost more to make than it takes to read it.
const SHORT: u64 = 1 << 14;

/// Why bytes are no frame.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FrameError {
    /// They begin otherwise: padding, garbage, or a skippable frame, which nobody writes.
    #[error("no frame begins here")]
    Magic,
    /// A bit or block type that the format keeps for later.
    #[error("the frame uses what its format reserves")]
    Reserved,
    /// Damaged: the content or its checksum.
    #[error("the frame is damaged: {0}")]
    Damaged(io::Error),
    /// The file could not be read.
    #[error("the file could not be read: {0}")]
    Io(#[from] io::Error),
}

/// Where a frame lies in its file, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// What comes next in a file of frames.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A frame that is there whole, as far as its structure tells.
    Frame(Span),
    /// A frame that the file ends within: a write that was cut short.
    Torn(Span),
    /// Nothing.
    End,
}

/// Frames of a file, one after the other, without holding them.
pub(crate) struct Frames<R> {
    file: R,
    /// Where `file` stands. Only steps from there keep what it has buffered.
    position: u64,
    length: u64,
    /// Where the next frame begins.
    at: u64,
    decoder: Decoder<'static>,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl<R: Read + Seek> Frames<R> {
    /// The frames in the first `length` bytes of `file`.
    pub(crate) fn new(file: R, length: u64) -> io::Result<Self> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX))?;
        Ok(Self {
            file,
            position: 0,
            length,
            at: 0,
            decoder,
            input: vec![0; PIECE.min(usize::try_from(length).unwrap_or(PIECE))],
            output: vec![0; if length < SHORT { PIECE / 8 } else { PIECE }],
        })
    }

    /// Finds the next frame by its structure alone.
    pub(crate) fn find(&mut self) -> Result<Next, FrameError> {
        let start = self.at;
        if start == self.length {
            return Ok(Next::End);
        }
        self.go_to(start)?;
        match self.measure(start) {
            Ok(end) => {
                self.at = end;
                Ok(Next::Frame(Span { start, end }))
            }
            Err(FrameError::Io(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.at = self.length;
                Ok(Next::Torn(Span { start, end: self.length }))
            }
            Err(error) => Err(error),
        }
    }

    /// Where the frame at `start` ends; `UnexpectedEof` where the file ends first.
    fn measure(&mut self, start: u64) -> Result<u64, FrameError> {
        let mut at = start;
        if self.bytes::<4>(&mut at)? != MAGIC {
            return Err(FrameError::Magic);
        }
        let [descriptor] = self.bytes(&mut at)?;
        if descriptor & 0x18 != 0 {
            return Err(FrameError::Reserved);
        }
        let single_segment = descriptor & 0x20 != 0;
        let dictionary = match descriptor & 3 {
            3 => 4,
            bytes => u64::from(bytes),
        };
        let content_size = match (descriptor >> 6, single_segment) {
            (0, true) => 1,
            (0, false) => 0,
            (flag, _) => 1 << flag,
        };
        self.skip(&mut at, u64::from(!single_segment) + dictionary + content_size)?;
        loop {
            let [one, two, three] = self.bytes(&mut at)?;
            let block = u32::from_le_bytes([one, two, three, 0]);
            let size = match block >> 1 & 3 {
                3 => return Err(FrameError::Reserved),
                1 => 1,
                _ => u64::from(block >> 3),
            };
            self.skip(&mut at, size)?;
            if block & 1 != 0 {
                break;
            }
        }
        if descriptor & 4 != 0 {
            self.skip(&mut at, 4)?;
        }
        Ok(at)
    }

    fn bytes<const N: usize>(&mut self, at: &mut u64) -> Result<[u8; N], FrameError> {
        self.reserve(at, N as u64)?;
        let mut bytes = [0; N];
        self.file.read_exact(&mut bytes)?;
        self.position += N as u64;
        Ok(bytes)
    }

    fn skip(&mut self, at: &mut u64, count: u64) -> Result<(), FrameError> {
        self.reserve(at, count)?;
        Ok(self.go_to(*at)?)
    }

    fn go_to(&mut self, position: u64) -> io::Result<()> {
        self.file.seek_relative(position.wrapping_sub(self.position).cast_signed())?;
        self.position = position;
        Ok(())
    }

    fn reserve(&self, at: &mut u64, count: u64) -> Result<(), FrameError> {
        if self.length - *at < count {
            return Err(FrameError::Io(io::ErrorKind::UnexpectedEof.into()));
        }
        *at += count;
        Ok(())
    }

    /// Decodes every whole frame; gives the torn one after them.
    ///
    /// `take` gets where the frame begins and each piece of it, at least one, and can stop with an error of its own.
    pub(crate) fn each_whole<E>(
        &mut self,
        failed: impl Fn(u64, FrameError) -> E,
        mut take: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<Option<Span>, E> {
        loop {
            let start = self.at;
            match self.find().map_err(|why| failed(start, why))? {
                Next::Frame(span) => {
                    self.decode(span, |why| failed(start, why), |piece| take(start, piece))?;
                }
                Next::Torn(span) => return Ok(Some(span)),
                Next::End => return Ok(None),
            }
        }
    }

    /// Decodes the frame at `span`, piece by piece; of a torn one, the blocks that are there whole.
    ///
    /// `take` gets each piece and can stop with an error of its own.
    pub(crate) fn decode<E>(
        &mut self,
        span: Span,
        failed: impl Fn(FrameError) -> E,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let io = |error: io::Error| failed(FrameError::Io(error));
        let damaged = |error: io::Error| failed(FrameError::Damaged(error));
        self.go_to(span.start).map_err(io)?;
        self.decoder.reinit().map_err(io)?;
        let mut left = span.end - span.start;
        let Self { file, position, decoder, input, output, .. } = self;
        loop {
            let wanted = left.min(input.len() as u64) as usize;
            let input = input.get_mut(..wanted).unwrap_or_default();
            file.read_exact(input).map_err(io)?;
            *position += wanted as u64;
            left -= wanted as u64;
            let mut input = InBuffer::around(input);
            loop {
                let mut room = OutBuffer::around(output.as_mut_slice());
                let hint = decoder.run(&mut input, &mut room).map_err(damaged)?;
                let written = room.pos();
                let full = written == output.len();
                take(output.get(..written).unwrap_or_default())?;
                if hint == 0 {
                    return Ok(());
                }
                if input.pos() == wanted && !full {
                    break;
                }
            }
            if left == 0 {
                // The structure has been measured, so only a torn frame ends here.
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::compressor::Compressor;

    fn encode(content: &[u8]) -> io::Result<Vec<u8>> {
        Compressor::new()?.frame(content)
    }

    fn frames(bytes: &[u8]) -> Frames<Cursor<&[u8]>> {
        Frames::new(Cursor::new(bytes), bytes.len() as u64).unwrap()
    }

    fn decoded(frames: &mut Frames<Cursor<&[u8]>>, span: Span) -> Result<Vec<u8>, FrameError> {
        let mut content = Vec::new();
        let take = |piece: &[u8]| {
            content.extend_from_slice(piece);
            Ok(())
        };
        frames.decode(span, |why| why, take)?;
        Ok(content)
    }

    /// Bytes that do not compress, so that a frame of them has many blocks.
    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        (0..length).map(next).collect()
    }

    #[test]
    fn a_frame_is_written_as_dsh_writes_it() {
        let frame = encode(b"hello\n").unwrap();
        assert_eq!(frame[..6], [0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58]);
    }

    #[test]
    fn what_was_written_reads_frame_by_frame() {
        let contents = [b"one\n".to_vec(), Vec::new(), noise(1_000_000), b"last\n".to_vec()];
        let bytes: Vec<u8> = contents.iter().flat_map(|content| encode(content).unwrap()).collect();
        let mut frames = frames(&bytes);
        for content in contents {
            let Next::Frame(span) = frames.find().unwrap() else { panic!("a frame is missing") };
            assert!(decoded(&mut frames, span).unwrap() == content);
        }
        assert_eq!(frames.find().unwrap(), Next::End);
    }

    #[test]
    fn a_torn_frame_gives_its_whole_blocks() {
        let whole = encode(&noise(400_000)).unwrap();
        for cut in [1, 4, 5, 200_000, whole.len() - 1] {
            let bytes = &whole[..whole.len() - cut];
            let mut frames = frames(bytes);
            let Next::Torn(span) = frames.find().unwrap() else { panic!("{cut} is not torn") };
            let content = decoded(&mut frames, span).unwrap();
            assert!(noise(400_000).starts_with(&content));
            assert_eq!(content.len() == 400_000, cut <= 4, "{cut}");
        }
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        assert!(matches!(frames(b"garbage").find(), Err(FrameError::Magic)));
        assert!(matches!(frames(&[0; 64]).find(), Err(FrameError::Magic)));
        let skippable = [0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 7];
        assert!(matches!(frames(&skippable).find(), Err(FrameError::Magic)));
    }

    #[test]
    fn a_flipped_bit_is_damage() {
        let whole = encode(b"some text that is long enough to have a payload\n").unwrap();
        for at in 6..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            let mut frames = frames(&bytes);
            let Ok(Next::Frame(span)) = frames.find() else { continue };
            assert!(decoded(&mut frames, span).is_err(), "bit at byte {at}");
        }
    }
}
