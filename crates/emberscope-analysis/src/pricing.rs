//! What findings are worth: one replay engine for all of them, so that claims can be compared and joined.

use crate::attribution::ModelError;
use crate::context::Context;
use crate::detectors::DETECTORS;
use crate::finding::{Claim, Confidence, Finding, RangeMs, SavingMethod, Savings, Scope, Severity, Worth};
use crate::identity::finding_id;
use crate::materiality;
use crate::replay::{Edit, Place, ReplayModel, Timeline};
use crate::words;
use std::collections::BTreeSet;

/// Replays of a run, whatever its size (decision 31).
const FEWEST_REPLAYS: usize = 12;
/// Task attempts that may be replayed in all: a small run can afford more replays than a large one.
const TASKS_REPLAYED: usize = 2_000_000;
/// Replays kept for the verdict.
const FOR_THE_VERDICT: usize = 8;
/// Error of the free replay above which savings are only modelled (decision 30).
const FREE_ERROR: f64 = 0.15;

/// Replays with fixes applied, against the replay without.
pub(crate) struct Pricer {
    model: ReplayModel,
    end_fixed_ms: i64,
    end_on_demand_ms: i64,
    wall_ms: i64,
    pinned_ms: i64,
}

impl Pricer {
    /// For a run; `None` where it cannot be replayed.
    pub(crate) fn of(context: &Context<'_>) -> Option<Self> {
        let model = ReplayModel::of(context)?;
        let end = |timeline| model.replay([].iter(), timeline).map(|outcome| outcome.end_ms);
        let end_fixed_ms = end(Timeline::Fixed)?;
        let end_on_demand_ms = if model.has_demand() { end(Timeline::OnDemand)? } else { end_fixed_ms };
        let (wall_ms, pinned_ms) = (model.wall_ms(), model.pinned_error_ms());
        Some(Pricer { model, end_fixed_ms, end_on_demand_ms, wall_ms, pinned_ms })
    }

    pub(crate) fn model_error(&self) -> ModelError {
        ModelError { pinned_ms: Some(self.pinned_ms), free_ratio: Some(self.free_ratio()) }
    }

    fn free_ratio(&self) -> f64 {
        (self.end_fixed_ms - self.model.start_of_run_ms() - self.wall_ms) as f64 / self.wall_ms.max(1) as f64
    }

    /// Whether the replay knows the run well enough.
    pub(crate) fn is_faithful(&self) -> bool {
        self.free_ratio().abs() <= FREE_ERROR
    }

    /// Whether queries or jobs ran side by side, so that the order among them is an assumption.
    pub(crate) fn has_concurrent_units(&self) -> bool {
        self.model.has_concurrent_units
    }

    /// What edits save at least: executors come when they came.
    pub(crate) fn low<'e>(&self, edits: impl Iterator<Item = &'e Edit> + Clone) -> i64 {
        let end =
            self.model.replay(edits, Timeline::Fixed).map_or(self.end_fixed_ms, |outcome| outcome.end_ms);
        (self.end_fixed_ms - end).clamp(0, self.wall_ms)
    }

    /// What edits save at most: executors come as soon as they are asked for.
    pub(crate) fn high<'e>(&self, edits: impl Iterator<Item = &'e Edit> + Clone) -> i64 {
        if !self.model.has_demand() {
            return self.low(edits);
        }
        let end = self.model.replay(edits.clone(), Timeline::OnDemand);
        let saved = end.map_or(0, |outcome| self.end_on_demand_ms - outcome.end_ms);
        saved.max(self.low(edits)).clamp(0, self.wall_ms)
    }

    /// Both ends of the saving of a claim.
    pub(crate) fn range(&self, low: &[Edit], high: &[Edit]) -> RangeMs {
        let at_most = self.high(high.iter());
        let at_least = if low == high && !self.model.has_demand() { at_most } else { self.low(low.iter()) };
        let at_least = if self.is_faithful() { at_least } else { 0 };
        RangeMs { low: at_least.min(at_most), high: at_most }
    }

    /// Replays that claims may use.
    fn budget(&self) -> usize {
        (TASKS_REPLAYED / self.model.tasks().max(1)).max(FEWEST_REPLAYS)
            - FOR_THE_VERDICT.min(FEWEST_REPLAYS - 2)
    }
}

/// A finding with the edits behind it.
#[derive(Debug)]
pub(crate) struct Priced {
    pub(crate) finding: Finding,
    pub(crate) low: Vec<Edit>,
    pub(crate) high: Vec<Edit>,
    /// Stage attempts and driver gaps whose time it is about.
    pub(crate) places: BTreeSet<ClaimedPlace>,
}

/// Time that can be claimed once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ClaimedPlace {
    Stage(Place),
    GapBefore(u32),
    End,
    /// Executors that came until a time, epoch milliseconds.
    ExecutorsBy(i64),
    Slots,
}

/// Prices claims, drops what does not matter, and puts the rest in order.
pub(crate) fn price(context: &Context<'_>, pricer: Option<&Pricer>, claims: Vec<Claim>) -> Vec<Priced> {
    let mut bounded: Vec<(i64, Claim)> =
        claims.into_iter().map(|claim| (bound(context, &claim), claim)).collect();
    bounded.sort_by_key(|(bound, _)| std::cmp::Reverse(*bound));
    let affordable = pricer.map_or(0, |pricer| pricer.budget() / 2);
    let priced = crate::parallel::map(&bounded, |n, (bound, claim)| {
        let savings = savings(context, pricer, claim, *bound, n < affordable);
        finding(context, claim, savings)
    });
    let mut kept: Vec<Priced> = priced.into_iter().flatten().collect();
    rank(&mut kept);
    causes_first(&mut kept);
    share_places(context, &mut kept);
    claim_once(context, &mut kept);
    kept.iter_mut().for_each(|priced| band(context, priced));
    rank(&mut kept);
    crate::identity::make_unique(&mut kept);
    relate(&mut kept);
    kept
}

/// The most a claim can be worth: the time of the stages and gaps that its edits touch.
fn bound(context: &Context<'_>, claim: &Claim) -> i64 {
    let Worth::Replay { high, .. } = &claim.worth else { return -1 };
    let mut places: Vec<Place> = high.iter().filter_map(Edit::place).collect();
    places.sort_unstable();
    places.dedup();
    let of_stages: i64 = places
        .iter()
        .filter_map(|place| context.digest_of(place.0, place.1))
        .map(|digest| {
            let waited = context.run.stages[digest.position].waiting_ms().unwrap_or(0);
            digest.running_ms() + waited
        })
        .sum();
    let of_gaps: i64 = high
        .iter()
        .map(|edit| match edit {
            Edit::JobSooner { by_ms, .. } | Edit::EndSooner { by_ms } => *by_ms,
            Edit::ExecutorsBy { until_ms, at_ms } => (until_ms - at_ms).max(0),
            Edit::ScaleSlots { .. } | Edit::DropJob { .. } => context.wall_ms.unwrap_or(0),
            _ => 0,
        })
        .sum();
    let most = claim.most_ms.unwrap_or(i64::MAX);
    (of_stages + of_gaps).min(most).min(context.wall_ms.unwrap_or(i64::MAX))
}

fn savings(
    context: &Context<'_>,
    pricer: Option<&Pricer>,
    claim: &Claim,
    bound: i64,
    is_affordable: bool,
) -> Savings {
    let core_ms = claim.core_ms.map(|ms| ms.max(0));
    match (&claim.worth, pricer) {
        (Worth::Replay { low, high }, Some(pricer)) if is_affordable => {
            let method = if pricer.is_faithful() { SavingMethod::Replay } else { SavingMethod::Modelled };
            let mut range = pricer.range(low, high);
            // Where executors come on demand, a replay may end sooner by more than what was taken away.
            range.high = range.high.min(bound.max(0));
            range.low = range.low.min(range.high);
            let core_ms = of_gaps(context, claim, core_ms, range.high);
            Savings { wall_ms: Some(range), core_ms, method }
        }
        (Worth::Replay { .. }, Some(_)) if context.wall_ms.is_some() => Savings {
            wall_ms: Some(RangeMs { low: 0, high: bound.max(0) }),
            core_ms,
            method: SavingMethod::Modelled,
        },
        (Worth::Resource, _) => Savings { wall_ms: None, core_ms, method: SavingMethod::Measured },
        _ => Savings { wall_ms: None, core_ms, method: SavingMethod::None },
    }
}

/// Core-time that a claim about gaps alone frees: what its fix does not take out of the run stays idle.
fn of_gaps(context: &Context<'_>, claim: &Claim, core_ms: Option<i64>, saved_ms: i64) -> Option<i64> {
    let Worth::Replay { high, .. } = &claim.worth else { return core_ms };
    let is_gap = |edit: &Edit| {
        matches!(edit, Edit::StartSooner { .. } | Edit::JobSooner { .. } | Edit::EndSooner { .. })
    };
    let (Some(wall), Some(all)) = (context.wall_ms, context.allocated_core_ms) else { return core_ms };
    if high.is_empty() || !high.iter().all(is_gap) || wall <= 0 {
        return core_ms;
    }
    let most = (all as f64 * saved_ms.max(0) as f64 / wall as f64) as i64;
    core_ms.map(|core_ms| core_ms.min(most))
}

fn is_material(context: &Context<'_>, claim: &Claim, savings: &Savings) -> bool {
    let Some(wall) = savings.wall_ms else { return true };
    if wall.high < claim.least_ms {
        return false;
    }
    if claim.severity.is_some() {
        return true;
    }
    let floor = context.get(&materiality::FLOOR_SHARE);
    let of_core = match (savings.core_ms, context.allocated_core_ms) {
        (Some(core), Some(all)) if all > 0 => core as f64 / all as f64,
        _ => 0.0,
    };
    let is_long = wall.high as f64 >= context.get(&materiality::FLOOR_MS);
    is_long && context.share_of_wall(wall.high).is_none_or(|share| share >= floor) || of_core >= floor
}

fn finding(context: &Context<'_>, claim: &Claim, savings: Savings) -> Option<Priced> {
    if !is_material(context, claim, &savings) {
        return None;
    }
    let detector =
        DETECTORS.iter().find(|detector| detector.types.iter().any(|kind| kind.name == claim.kind))?;
    let (low, high) = match &claim.worth {
        Worth::Replay { low, high } => (low.clone(), high.clone()),
        Worth::None | Worth::Resource => (Vec::new(), Vec::new()),
    };
    let mut places: BTreeSet<ClaimedPlace> = high.iter().filter_map(claimed).collect();
    places.extend(claim.stages.iter().copied().map(ClaimedPlace::Stage));
    if let (Some(id), Some(attempt)) = (claim.scope.stage_id, claim.scope.stage_attempt) {
        places.insert(ClaimedPlace::Stage((id, attempt)));
    }
    let confidence = match savings.method {
        SavingMethod::Modelled => claim.confidence.min(Confidence::Medium),
        _ => claim.confidence,
    };
    let mut evidence = claim.evidence.clone();
    if let Some(error) = rounding_error(context, &claim.scope) {
        evidence.insert("rounding_error_share".to_owned(), words::rounded(error).into());
    }
    let finding = Finding {
        id: finding_id(context, detector.tag, claim),
        kind: claim.kind,
        tag: detector.tag,
        variant: claim.variant,
        severity: claim.severity.unwrap_or(Severity::Info),
        nature: claim.nature,
        scope: claim.scope.clone(),
        title: claim.title.clone(),
        evidence,
        profile: None,
        recommendation: claim.recommendation.clone(),
        savings,
        confidence,
        validate: claim.validate.clone(),
        doc: format!("{}#{}", detector.tag, claim.kind),
        alone_ms: None,
        part_of: None,
        related: Vec::new(),
    };
    let mut priced = Priced { finding, low, high, places };
    if claim.severity.is_none() || detector.tag == "RETRY" {
        band(context, &mut priced);
    }
    Some(priced)
}

/// Rounding of less than this share is not worth telling.
const LEAST_ROUNDING: f64 = 0.001;

/// How far rounding for display may have moved a figure of the operator that a claim is about, or of those that give
/// it rows, as a share of it: the largest of all of them; `None` where they are as good as exact.
fn rounding_error(context: &Context<'_>, scope: &Scope) -> Option<f64> {
    let view = context.sql_view(scope.sql_id?)?;
    if view.execution.displayed.is_empty() {
        return None;
    }
    let error = |id: u64| {
        let metric = view.metrics().get(&id)?;
        let total = metric.total.filter(|total| *total > 0)?;
        Some(metric.fidelity.within() as f64 / total as f64)
    };
    let mut largest: Option<f64> = None;
    let mut open = vec![scope.node_id?];
    while let Some(node) = open.pop() {
        let node = view.nodes.get(node as usize)?;
        let errors = node.metrics.iter().filter_map(|(_, _, id)| error(*id));
        largest = errors.chain(largest).reduce(f64::max);
        open.extend(&node.children);
    }
    largest.filter(|error| *error >= LEAST_ROUNDING)
}

fn claimed(edit: &Edit) -> Option<ClaimedPlace> {
    Some(match edit {
        Edit::JobSooner { job, .. } | Edit::DropJob { job } => ClaimedPlace::GapBefore(*job),
        Edit::EndSooner { .. } => ClaimedPlace::End,
        Edit::ExecutorsBy { until_ms, .. } => ClaimedPlace::ExecutorsBy(*until_ms),
        Edit::ScaleSlots { .. } => ClaimedPlace::Slots,
        other => ClaimedPlace::Stage(other.place()?),
    })
}

/// Severity by what is saved; failures have rules of their own.
fn band(context: &Context<'_>, priced: &mut Priced) {
    let (Some(saving), Some(wall)) = (priced.finding.savings.wall_ms, context.wall_ms) else { return };
    let by_saving = materiality::severity(saving, wall, context.thresholds());
    match priced.finding.tag {
        "FAIL" | "SFAIL" | "SPEC" | "JOBS" | "INCMP" => {}
        // What was lost is the least it is; what it cost the run may be more.
        "RETRY" => priced.finding.severity = priced.finding.severity.max(by_saving),
        _ => priced.finding.severity = by_saving,
    }
}

fn high_of(finding: &Finding) -> i64 {
    finding.savings.wall_ms.map_or(-1, |range| range.high)
}

/// What is expected of a range: an end that may be nothing counts for less than one that is certain.
fn middle_of(finding: &Finding) -> i64 {
    finding.savings.wall_ms.map_or(-1, |range| range.low.midpoint(range.high))
}

/// An incomplete run is said first; then what is worth most.
fn rank(kept: &mut [Priced]) {
    kept.sort_by(|a, b| {
        let key = |priced: &Priced| {
            let finding = &priced.finding;
            (
                finding.tag != "INCMP",
                std::cmp::Reverse((finding.severity, middle_of(finding), finding.savings.core_ms)),
            )
        };
        key(a).cmp(&key(b)).then_with(|| a.finding.id.cmp(&b.finding.id))
    });
}

/// What explains the shape of a stage, and how many times as much as it the shape may save for all that.
const EXPLAINS_SHAPE: [&str; 2] = ["unsplittableInput", "singlePartition"];
const SHAPE_MAY_SAVE: i64 = 2;

/// The cause comes before the symptom: what the plan says of a stage's few tasks before that they are few,
/// unless it explains only a small part of it.
fn causes_first(kept: &mut [Priced]) {
    for shape in 0..kept.len() {
        if kept[shape].finding.kind != "stageShape" {
            continue;
        }
        let saved = high_of(&kept[shape].finding);
        let cause = (shape + 1..kept.len()).find(|other| {
            EXPLAINS_SHAPE.contains(&kept[*other].finding.kind)
                && high_of(&kept[*other].finding).saturating_mul(SHAPE_MAY_SAVE) >= saved
                && !kept[*other].places.is_disjoint(&kept[shape].places)
        });
        if let Some(cause) = cause {
            kept[shape..=cause].rotate_right(1);
        }
    }
}

/// One headline per place: what is worth most there. The others are part of it, and claim no more than
/// what it leaves.
fn share_places(context: &Context<'_>, kept: &mut [Priced]) {
    for n in 0..kept.len() {
        if kept[n].places.is_empty() {
            continue;
        }
        let headline = (0..n).find(|other| {
            kept[*other].finding.part_of.is_none() && !kept[*other].places.is_disjoint(&kept[n].places)
        });
        let Some(headline) = headline else { continue };
        kept[n].finding.part_of = Some(kept[headline].finding.id.clone());
        let room = room(context, &kept[n].places) - high_of(&kept[headline].finding).max(0);
        let alone = kept[n].finding.savings.wall_ms;
        limit(&mut kept[n].finding, room.max(0));
        kept[n].finding.alone_ms = alone.filter(|_| kept[n].finding.savings.wall_ms != alone);
    }
}

/// Time of some places.
fn room(context: &Context<'_>, places: &BTreeSet<ClaimedPlace>) -> i64 {
    let of_stage =
        |place: &Place| context.digest_of(place.0, place.1).map_or(0, |digest| digest.running_ms());
    let is_open = places.iter().any(|place| !matches!(place, ClaimedPlace::Stage(_)));
    if is_open {
        return context.wall_ms.unwrap_or(i64::MAX);
    }
    places.iter().map(|place| if let ClaimedPlace::Stage(place) = place { of_stage(place) } else { 0 }).sum()
}

fn limit(finding: &mut Finding, room: i64) {
    if let Some(range) = &mut finding.savings.wall_ms {
        range.high = range.high.min(room);
        range.low = range.low.min(range.high);
    }
}

/// No second is claimed twice: in order of importance, claims together stay within the run.
fn claim_once(context: &Context<'_>, kept: &mut [Priced]) {
    let Some(mut left) = context.wall_ms else { return };
    for priced in kept {
        limit(&mut priced.finding, left);
        left -= high_of(&priced.finding).max(0);
    }
}

/// Names the findings that share a place, so that one leads to the others.
fn relate(kept: &mut [Priced]) {
    // Parts were named by an id that has become unique since.
    for n in 0..kept.len() {
        if kept[n].finding.part_of.is_some() {
            let headline = (0..kept.len()).find(|other| {
                *other != n
                    && kept[*other].finding.part_of.is_none()
                    && !kept[*other].places.is_disjoint(&kept[n].places)
            });
            kept[n].finding.part_of = headline.map(|headline| kept[headline].finding.id.clone());
        }
        let related: Vec<String> = (0..kept.len())
            .filter(|other| *other != n && !kept[*other].places.is_disjoint(&kept[n].places))
            .map(|other| kept[other].finding.id.clone())
            .take(8)
            .collect();
        kept[n].finding.related = related;
    }
}
