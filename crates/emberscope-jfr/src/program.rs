//! Samples by the code that they are due to: where a program ran, and where it waited.

use crate::frames::{FrameId, FrameKind};
use crate::names::{is_language, is_wait};
use crate::view::View;
use rustc_hash::FxHashMap;

/// What a program did while it was sampled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramFrames {
    /// Where it ran, the heaviest first.
    pub running: Vec<ProgramFrame>,
    /// Where it waited, the heaviest first.
    pub waiting: Vec<ProgramFrame>,
    /// Weight of `running`, with what is due to no frame.
    pub running_sum: i64,
    /// Weight of `waiting`, with what is due to no frame.
    pub waiting_sum: i64,
}

/// A method of the application, of Spark or of another library of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramFrame {
    /// The frame.
    pub frame: FrameId,
    /// Weight of stacks that end in it, or in what it called of the JDK, of Scala's library and of native code.
    pub own: i64,
    /// Weight of stacks that hold it, each once.
    pub total: i64,
}

/// Tells the frames of a view that compares all samples with those in which threads ran. A sample whose stack ends
/// in a method that waits is one of waiting, too: Java itself calls a thread runnable that reads from a socket.
pub fn program_frames(all_and_running: &View) -> ProgramFrames {
    split(all_and_running, |view, path| path.iter().any(|frame| is_wait(view.frames.name(*frame))))
}

/// As [`program_frames`], of samples all of which were taken while threads ran.
pub fn running_frames(view: &View) -> ProgramFrames {
    // A view without a baseline has nothing that ran beside it, so that all of it comes as what did not.
    let mut frames = split(view, |_, _| false);
    std::mem::swap(&mut frames.running, &mut frames.waiting);
    std::mem::swap(&mut frames.running_sum, &mut frames.waiting_sum);
    frames
}

/// Own and total weight by frame.
#[derive(Debug, Default)]
struct Sums {
    of_frame: FxHashMap<FrameId, (i64, i64)>,
    sum: i64,
}

impl Sums {
    /// Adds the weight of a stack of these frames that is due to one of them.
    fn add(&mut self, frames: &[FrameId], due: Option<FrameId>, weight: i64) {
        self.sum = self.sum.saturating_add(weight);
        for frame in frames {
            let total = &mut self.of_frame.entry(*frame).or_default().1;
            *total = total.saturating_add(weight);
        }
        if let Some(due) = due {
            let own = &mut self.of_frame.entry(due).or_default().0;
            *own = own.saturating_add(weight);
        }
    }

    fn into_frames(self, view: &View) -> Vec<ProgramFrame> {
        let frames = self.of_frame.into_iter().filter(|(_, (own, _))| *own > 0);
        let mut frames: Vec<ProgramFrame> =
            frames.map(|(frame, (own, total))| ProgramFrame { frame, own, total }).collect();
        frames.sort_by(|a, b| {
            let key = |one: &ProgramFrame| (std::cmp::Reverse(one.own), std::cmp::Reverse(one.total));
            key(a).cmp(&key(b)).then_with(|| view.frames.name(a.frame).cmp(view.frames.name(b.frame)))
        });
        frames
    }
}

/// `is_waiting` looks at what is below the frame that a stack is due to.
fn split(view: &View, is_waiting: impl Fn(&View, &[FrameId]) -> bool) -> ProgramFrames {
    let (mut running, mut waiting) = (Sums::default(), Sums::default());
    let mut stack: Vec<FrameId> = Vec::new();
    // In recursion a weight counts once: by frame, the last node whose stack was seen to hold it.
    let (mut holders, mut distinct) = (vec![0; view.frames.len()], Vec::new());
    for (at, node) in view.nodes.iter().enumerate().skip(1) {
        stack.truncate(node.depth.saturating_sub(1) as usize);
        stack.push(node.frame);
        if node.own == 0 {
            continue;
        }
        let due = due(view, &stack);
        let below = due.map_or(stack.as_slice(), |at| &stack[at..]);
        let ran = if is_waiting(view, below) { 0 } else { node.baseline_own.min(node.own) };
        distinct.clear();
        distinct
            .extend(stack.iter().filter(|frame| std::mem::replace(&mut holders[**frame as usize], at) != at));
        for (sums, weight) in [(&mut running, ran), (&mut waiting, node.own - ran)] {
            if weight > 0 {
                sums.add(&distinct, due.map(|at| stack[at]), weight);
            }
        }
    }
    ProgramFrames {
        running_sum: running.sum,
        waiting_sum: waiting.sum,
        running: running.into_frames(view),
        waiting: waiting.into_frames(view),
    }
}

/// Position in a stack of the frame that it is due to: the last one of the program, else of Java, else the last.
fn due(view: &View, stack: &[FrameId]) -> Option<usize> {
    let is_java = |frame: &FrameId| view.frames.kind(*frame) == FrameKind::Java;
    let is_program = |frame: &FrameId| is_java(frame) && !is_language(view.frames.name(*frame));
    let is_some = |frame: &FrameId| view.frames.kind(*frame) != FrameKind::Mark;
    stack
        .iter()
        .rposition(is_program)
        .or_else(|| stack.iter().rposition(is_java))
        .or_else(|| stack.iter().rposition(is_some))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flame_event::FlameEvent;
    use crate::fold::{Profile, Request};
    use crate::view::ViewLimits;

    fn profile(stacks: &[(&str, i64)]) -> Profile {
        let mut profile = Profile::new(&Request::all(FlameEvent::Wall));
        for (stack, weight) in stacks {
            let frame = |name: &str| match name.contains(".so") {
                true => (FrameKind::Native, name.to_owned()),
                false => (FrameKind::Java, name.to_owned()),
            };
            let path: Vec<FrameId> = stack
                .split(';')
                .map(|name| {
                    let (kind, name) = frame(name);
                    profile.frames.intern(kind, &name)
                })
                .collect();
            let place = profile.tree.place(path.into_iter());
            assert!(profile.tree.add(place, *weight));
        }
        profile
    }

    fn told(view: &View, frames: &[ProgramFrame]) -> Vec<(String, i64, i64)> {
        frames.iter().map(|one| (view.frames.name(one.frame).to_owned(), one.own, one.total)).collect()
    }

    const STACKS: &[(&str, i64)] = &[
        ("java.lang.Thread.run;org.apache.spark.Task.run;a.B.hot", 40),
        (
            "java.lang.Thread.run;org.apache.spark.Task.run;a.B.hot;java.util.zip.Inflater.inflate;libz.so.x",
            7,
        ),
        ("java.lang.Thread.run;org.apache.spark.Task.run;a.B.hot;a.B.hot", 2),
        ("java.lang.Thread.run;org.apache.spark.Read.read;sun.nio.ch.SocketDispatcher.read0", 9),
        ("java.lang.Thread.run;a.B.nap;java.lang.Thread.sleep;libc.so.6.futex", 30),
        ("libjvm.so.GC", 1),
    ];

    #[test]
    fn frames_of_the_program_answer_for_what_they_call() {
        let all = profile(STACKS);
        // Everything but the naps was runnable, the socket included.
        let runnable: Vec<(&str, i64)> =
            STACKS.iter().filter(|(stack, _)| !stack.contains("sleep")).copied().collect();
        let view = View::diff(&all, &profile(&runnable), ViewLimits::NONE);
        let frames = program_frames(&view);
        assert_eq!(
            told(&view, &frames.running),
            [("a.B.hot".to_owned(), 49, 49), ("libjvm.so.GC".to_owned(), 1, 1)]
        );
        assert_eq!(
            told(&view, &frames.waiting),
            [("a.B.nap".to_owned(), 30, 30), ("org.apache.spark.Read.read".to_owned(), 9, 9)]
        );
        assert_eq!((frames.running_sum, frames.waiting_sum), (50, 39));
    }

    #[test]
    fn on_the_cpu_nothing_waits() {
        let all = profile(STACKS);
        let view = View::of(&all, ViewLimits::NONE);
        let frames = running_frames(&view);
        assert_eq!((frames.running_sum, frames.waiting_sum), (89, 0));
        assert_eq!(frames.running.len(), 4);
    }
}
