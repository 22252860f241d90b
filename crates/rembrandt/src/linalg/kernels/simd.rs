//! Which vector instructions to use: found out when the program runs, so one binary serves every machine.

/// A computation that is compiled once for each set of vector instructions.
pub trait Work {
    /// Runs it. `FMA` tells whether multiply-adds are fused.
    ///
    /// Implementations are `#[inline(always)]`, and so is what they call: only then is their code compiled with the
    /// instructions of the function that it is inlined into.
    fn run<const FMA: bool>(self);
}

/// A set of vector instructions that this processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(InstructionSet);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InstructionSet {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// Whether the instructions that every processor of the target has include a fused multiply-add. Where they do not,
/// `f32::mul_add` is a slow library call, and the portable code multiplies and then adds.
const FUSED: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));

impl Level {
    /// The widest instructions of this processor.
    pub fn best() -> Level {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // Code for AVX-512F may use AVX2 and FMA as well.
            let wide = is_x86_feature_detected!("avx512f");
            return Level(if wide { InstructionSet::Avx512 } else { InstructionSet::Avx2 });
        }
        Level(InstructionSet::Portable)
    }

    /// Every level of this processor, for tests of code that must give the same bits on all of them.
    pub fn all() -> Vec<Level> {
        #[cfg(target_arch = "x86_64")]
        return match Level::best().0 {
            InstructionSet::Avx512 => {
                vec![Level(InstructionSet::Portable), Level(InstructionSet::Avx2), Level(InstructionSet::Avx512)]
            }
            InstructionSet::Avx2 => vec![Level(InstructionSet::Portable), Level(InstructionSet::Avx2)],
            InstructionSet::Portable => vec![Level(InstructionSet::Portable)],
        };
        #[cfg(not(target_arch = "x86_64"))]
        vec![Level(InstructionSet::Portable)]
    }

    /// Every level of this processor whose multiply-adds are fused: all of them give the same bits.
    #[cfg(test)]
    pub(crate) fn fused() -> Vec<Level> {
        let mut levels = Level::all();
        levels.retain(|level| FUSED || *level != Level::PORTABLE);
        levels
    }

    /// The level of every processor.
    #[cfg(test)]
    pub(crate) const PORTABLE: Level = Level(InstructionSet::Portable);

    /// Runs `work` with these instructions.
    pub fn run(self, work: impl Work) {
        match self.0 {
            InstructionSet::Portable => work.run::<FUSED>(),
            // SAFETY: a level of this kind is made only after the processor was seen to have AVX2 and FMA.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => unsafe { avx2(work) },
            // SAFETY: a level of this kind is made only after the processor was seen to have AVX-512F, AVX2 and FMA.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => unsafe { avx512(work) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2(work: impl Work) {
    work.run::<true>();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn avx512(work: impl Work) {
    work.run::<true>();
}
