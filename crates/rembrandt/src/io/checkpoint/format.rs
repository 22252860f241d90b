//! The format of a checkpoint: a mark of what it belongs to, the work it stands for, its content, a checksum of all.
//!
//! Content goes straight from matrices to the file and back, so that keeping a checkpoint takes no memory of its size.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};

use faer::Mat;
use half::bf16;
use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::Xxh3;

use crate::linalg::csr::Csr;
use crate::linalg::matrix::Matrix;

const MAGIC: &[u8; 8] = b"RMBPIECE";
/// Magic, mark and work; and the checksum at the end.
const AROUND: u64 = 24 + 8;

/// Something that can be part of a checkpoint.
pub(crate) trait Store {
    fn store(&self, out: &mut Writer<'_>) -> io::Result<()>;
}

/// Something that can be read from a checkpoint, as it was stored.
pub(crate) trait Load: Sized {
    fn load(from: &mut Reader) -> io::Result<Self>;
}

/// Writes and sums up.
pub(crate) struct Writer<'a> {
    out: &'a mut dyn Write,
    sum: Xxh3,
}

impl<'a> Writer<'a> {
    pub fn begin(out: &'a mut dyn Write, mark: u64, work: u64) -> io::Result<Writer<'a>> {
        let mut writer = Writer { out, sum: Xxh3::new() };
        writer.bytes(MAGIC)?;
        mark.store(&mut writer)?;
        work.store(&mut writer)?;
        Ok(writer)
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        // In parts that are still in the cache when they are copied.
        for part in bytes.chunks(1 << 16) {
            self.sum.update(part);
            self.out.write_all(part)?;
        }
        Ok(())
    }

    pub fn end(self) -> io::Result<()> {
        self.out.write_all(&self.sum.digest().to_le_bytes())
    }
}

/// Reads and sums up. Knows how much there is, so that a torn length cannot ask for more.
pub(crate) struct Reader {
    file: BufReader<File>,
    sum: Xxh3,
    left: u64,
    work: u64,
}

impl Reader {
    /// Opens a checkpoint that begins with `mark`.
    pub fn open(file: File, mark: u64) -> io::Result<Reader> {
        let left = file.metadata()?.len().checked_sub(AROUND).ok_or(io::ErrorKind::UnexpectedEof)?;
        let file = BufReader::with_capacity(1 << 16, file);
        let mut reader = Reader { file, sum: Xxh3::new(), left: left + AROUND - 8, work: 0 };
        let mut magic = [0; 8];
        reader.bytes(&mut magic)?;
        if &magic != MAGIC || u64::load(&mut reader)? != mark {
            return Err(torn());
        }
        reader.work = u64::load(&mut reader)?;
        Ok(reader)
    }

    /// The content and the work that it stands for, if the checksum is right.
    pub fn finish_reading<T: Load>(mut self) -> io::Result<(T, u64)> {
        let content = T::load(&mut self)?;
        let mut checksum = [0; 8];
        self.file.read_exact(&mut checksum)?;
        if self.left != 0 || self.sum.digest() != u64::from_le_bytes(checksum) {
            return Err(torn());
        }
        Ok((content, self.work))
    }

    fn bytes(&mut self, to: &mut [u8]) -> io::Result<()> {
        self.left = self.left.checked_sub(to.len() as u64).ok_or_else(torn)?;
        for part in to.chunks_mut(1 << 16) {
            self.file.read_exact(part)?;
            self.sum.update(part);
        }
        Ok(())
    }

    /// A number of things of `size` bytes each, which must be there.
    fn count(&mut self, size: usize) -> io::Result<usize> {
        let count = usize::load(self)?;
        match (count as u64).checked_mul(size as u64) {
            Some(bytes) if bytes <= self.left => Ok(count),
            _ => Err(torn()),
        }
    }
}

fn torn() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

macro_rules! numbers {
    ($($kind:ty),*) => {$(
        impl Store for $kind {
            fn store(&self, out: &mut Writer<'_>) -> io::Result<()> {
                out.bytes(&self.to_le_bytes())
            }
        }

        impl Load for $kind {
            fn load(from: &mut Reader) -> io::Result<$kind> {
                let mut bytes = [0; size_of::<$kind>()];
                from.bytes(&mut bytes)?;
                Ok(<$kind>::from_le_bytes(bytes))
            }
        }

        impl Store for Vec<$kind> {
            fn store(&self, out: &mut Writer<'_>) -> io::Result<()> {
                self.len().store(out)?;
                out.bytes(bytemuck::cast_slice(self))
            }
        }

        impl Load for Vec<$kind> {
            fn load(from: &mut Reader) -> io::Result<Vec<$kind>> {
                let mut numbers = vec![<$kind>::default(); from.count(size_of::<$kind>())?];
                from.bytes(bytemuck::cast_slice_mut(&mut numbers))?;
                Ok(numbers)
            }
        }
    )*};
}

numbers!(bf16, u32, u64, f32, f64);

impl Store for usize {
    fn store(&self, out: &mut Writer<'_>) -> io::Result<()> {
        (*self as u64).store(out)
    }
}

impl Load for usize {
    fn load(from: &mut Reader) -> io::Result<usize> {
        usize::try_from(u64::load(from)?).map_err(|_| torn())
    }
}

impl Store for Matrix {
    fn store(&self, out: &mut Writer<'_>) -> io::Result<()> {
        (self.rows(), self.cols()).store(out)?;
        out.bytes(bytemuck::cast_slice(self.as_slice()))
    }
}

impl Load for Matrix {
    fn load(from: &mut Reader) -> io::Result<Matrix> {
        let (rows, cols) = <(usize, usize)>::load(from)?;
        let bytes = (rows as u64).checked_mul(cols as u64).and_then(|entries| entries.checked_mul(4));
        if bytes.is_none_or(|bytes| bytes > from.left) {
            return Err(torn());
        }
        let mut matrix = Matrix::zeros(rows, cols);
        from.bytes(bytemuck::cast_slice_mut(matrix.as_mut_slice()))?;
        Ok(matrix)
    }
}

impl Store for Mat<f64> {
    fn store(&self, out: &mut Writer<'_>) -> io::Result<()> {
        (self.nrows(), self.ncols()).store(out)?;
        (0..self.ncols()).try_for_each(|j| out.bytes(bytemuck::cast_slice(self.col_as_slice(j))))
    }
}

impl Load for Mat<f64> {
    fn load(from: &mut Reader) -> io::Result<Mat<f64>> {
        let (rows, cols) = <(usize, usize)>::load(from)?;
        let bytes = (rows as u64).checked_mul(cols as u64).and_then(|entries| entries.checked_mul(8));
        if bytes.is_none_or(|bytes| bytes > from.left) {
            return Err(torn());
        }
        let mut matrix = Mat::zeros(rows, cols);
        (0..cols).try_for_each(|j| from.bytes(bytemuck::cast_slice_mut(matrix.col_as_slice_mut(j))))?;
        Ok(matrix)
    }
}

impl Store for Csr {
    fn store(&self, out: &mut Writer<'_>) -> io::Result<()> {
        let rows = self.view();
        (rows.ptr.to_vec(), rows.ids.to_vec(), rows.values.map(<[f32]>::to_vec)).store(out)
    }
}

impl Load for Csr {
    fn load(from: &mut Reader) -> io::Result<Csr> {
        let (ptr, ids, values) = <(Vec<u32>, Vec<u32>, Option<Vec<f32>>)>::load(from)?;
        let rows = ptr.len().checked_sub(1).ok_or_else(torn)?;
        Csr::checked(ptr, ids, values, rows, usize::MAX).map_err(|_| torn())
    }
}

impl<T: Store> Store for Option<T> {
    fn store(&self, out: &mut Writer<'_>) -> io::Result<()> {
        usize::from(self.is_some()).store(out)?;
        self.iter().try_for_each(|content| content.store(out))
    }
}

impl<T: Load> Load for Option<T> {
    fn load(from: &mut Reader) -> io::Result<Option<T>> {
        match usize::load(from)? {
            0 => Ok(None),
            1 => T::load(from).map(Some),
            _ => Err(torn()),
        }
    }
}

impl<T: Store> Store for [T] {
    fn store(&self, out: &mut Writer<'_>) -> io::Result<()> {
        self.len().store(out)?;
        self.iter().try_for_each(|each| each.store(out))
    }
}

impl Store for Vec<Matrix> {
    fn store(&self, out: &mut Writer<'_>) -> io::Result<()> {
        self[..].store(out)
    }
}

impl Load for Vec<Matrix> {
    fn load(from: &mut Reader) -> io::Result<Vec<Matrix>> {
        let count = from.count(1)?;
        (0..count).map(|_| Matrix::load(from)).collect()
    }
}

impl<T: Store + ?Sized> Store for &T {
    fn store(&self, out: &mut Writer<'_>) -> io::Result<()> {
        (**self).store(out)
    }
}

/// Something small, as JSON: numbers come back as they were.
pub(crate) struct Json<T>(pub T);

impl<T: Serialize> Store for Json<T> {
    fn store(&self, out: &mut Writer<'_>) -> io::Result<()> {
        let text = serde_json::to_vec(&self.0)?;
        text.len().store(out)?;
        out.bytes(&text)
    }
}

impl<T: DeserializeOwned> Load for Json<T> {
    fn load(from: &mut Reader) -> io::Result<Json<T>> {
        let mut text = vec![0; from.count(1)?];
        from.bytes(&mut text)?;
        Ok(Json(serde_json::from_slice(&text)?))
    }
}

macro_rules! tuples {
    ($(($($name:ident),*)),*) => {$(
        impl<$($name: Store),*> Store for ($($name,)*) {
            #[allow(non_snake_case)]
            fn store(&self, out: &mut Writer<'_>) -> io::Result<()> {
                let ($($name,)*) = self;
                $($name.store(out)?;)*
                Ok(())
            }
        }

        impl<$($name: Load),*> Load for ($($name,)*) {
            fn load(from: &mut Reader) -> io::Result<Self> {
                Ok(($($name::load(from)?,)*))
            }
        }
    )*};
}

tuples!((A, B), (A, B, C), (A, B, C, D), (A, B, C, D, E), (A, B, C, D, E, F));
