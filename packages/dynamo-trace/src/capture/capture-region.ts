/**
 * @file Capturing trusted regions.
 *
 * The body runs and its ops are recorded as always; in addition the region notes what it read, what it
 * made and which gradients it set, so that a replay can check the owner once and jump over it. If it
 * read something that cannot be found on its owner again, or broke the graph, it is not jumped over.
 */
import { userFrame } from '@tessera/graph';
import { SymScalar, treeFlatten, treeUnflatten } from '@tessera/shared';
import { type RegionInputs, type Tensor, isTensor } from '@tessera/tensor';
import { OwnerGuards, fetchPaths } from '../guards/owner-guards.js';
import type { ExternalPattern, Pattern, SlotPattern } from '../trace/pattern.js';
import {
  type OutSpec,
  type RegionJump,
  type RegionStep,
  type Step,
  specOf,
} from '../trace/step.js';
import type { SizeTuple } from '../dynamic/size-tuple.js';
import type { Capture } from './capture.js';

/** What is noted while a region's body runs. */
export class RegionCapture {
  /** Slots read by ops of the region. */
  readonly uses: Set<number> = new Set();
  /** Slots made in the region. */
  readonly produced: Set<number> = new Set();
  readonly grads: { tensor: Tensor; value: Tensor | null }[] = [];
  /** Steps recorded inside, in order. */
  readonly steps: Step[] = [];
  /** A graph break happened inside, or a number of the body became a runtime scalar: a jump would not set it. */
  broken = false;
  /** The user's source line: one for all, as no code of the user runs inside. */
  readonly frame: string | undefined = userFrame();
  private readonly scalars = new Map<SymScalar, number>();

  /** Notes `tensor.grad = value`. */
  noteGrad(tensor: Tensor, value: Tensor | null): void {
    this.grads.push({ tensor, value });
  }

  addScalar(scalar: SymScalar, index: number): void {
    this.scalars.set(scalar, index);
  }

  /** Index of a runtime scalar that the region was given, or -1. */
  scalarIndex(scalar: SymScalar): number {
    return this.scalars.get(scalar) ?? -1;
  }
}

/** Records a region; returns the body's result. */
export function captureRegion<R>(
  capture: Capture,
  owner: object,
  name: string,
  inputs: RegionInputs,
  fn: (inputs: RegionInputs) => R,
): R {
  const ownerName = `G['${owner.constructor.name}']`;
  const guards = new OwnerGuards(owner, ownerName);
  capture.options.sources.addObject(owner, ownerName);
  const { leaves, spec } = treeFlatten(inputs);
  const region = new RegionCapture();
  const older = capture.shadow.enterRegion(owner, name);
  const firstNew = capture.numbering.slots;
  const patterns: Pattern[] = [];
  const values = leaves.map((leaf) => {
    if (isTensor(leaf)) {
      const like = older?.inputs[patterns.length];
      patterns.push(
        capture.patternOf(
          leaf,
          null,
          like === undefined ? null : { pattern: like, calls: older!.calls },
        ),
      );
      return leaf;
    }
    if (typeof leaf === 'number') {
      const index = capture.numbering.scalars++;
      const kind = 'float';
      const scalar = new SymScalar(leaf, kind, `${ownerName}.${name} input ${patterns.length}`);
      capture.run.scalars[index] = leaf;
      region.addScalar(scalar, index);
      patterns.push({ code: 4, index, kind });
      return scalar;
    }
    patterns.push({ code: 2, value: leaf });
    return leaf;
  });
  const step: RegionStep = {
    kind: 'region',
    owner,
    name,
    inputs: patterns,
    result: null,
    jump: null,
    calls: [capture.shapes.call],
    next: { steps: [] },
  };
  capture.push(step);
  const inputSlots = new Set(
    patterns.flatMap((pattern) => (pattern.code === 0 || pattern.code === 1 ? [pattern.slot] : [])),
  );
  capture.region = region;
  const bound = capture.run.tuple;
  let result: R;
  try {
    result = fn(treeUnflatten(values, spec) as RegionInputs);
  } finally {
    capture.region = null;
  }
  if (!region.broken)
    finishRegion(capture, step, region, guards, inputSlots, firstNew, bound, result);
  const given = step.jump === null ? region.produced : step.jump.produced.map(({ slot }) => slot);
  for (const slot of given) capture.visible.push(slot);
  return result;
}

function finishRegion(
  capture: Capture,
  step: RegionStep,
  region: RegionCapture,
  guards: OwnerGuards,
  inputSlots: ReadonlySet<number>,
  firstNew: number,
  bound: SizeTuple,
  result: unknown,
): void {
  const { run } = capture;
  const resultTree = treeFlatten(result);
  const leaves: Pattern[] = [];
  for (const leaf of resultTree.leaves) {
    if (!isTensor(leaf)) leaves.push({ code: 2, value: leaf });
    else if (leaf.traceOwner === run.id)
      leaves.push({ code: 0, slot: leaf.traceSlot, guard: null });
    else return;
  }
  const produced = new Map<number, OutSpec>();
  const wantProduced = (slot: number): void => {
    if (!region.produced.has(slot)) return;
    produced.set(slot, specOf(run.slots[slot]!));
  };
  for (const leaf of leaves) if (leaf.code === 0) wantProduced(leaf.slot);
  const grads: { tensor: number; value: number }[] = [];
  for (const { tensor, value } of region.grads) {
    // Setting a gradient on a tensor that no op used: the jump could not find it.
    if (tensor.traceOwner !== run.id || (value !== null && value.traceOwner !== run.id)) return;
    if (value !== null) wantProduced(value.traceSlot);
    grads.push({ tensor: tensor.traceSlot, value: value === null ? -1 : value.traceSlot });
  }
  const implicitSlots = [...region.uses].filter(
    (slot) => !inputSlots.has(slot) && !region.produced.has(slot),
  );
  const paths = implicitSlots.map((slot) => guards.pathOf(run.slots[slot]!));
  if (paths.some((path) => path === undefined)) return;
  const implicit = implicitSlots.map((slot): SlotPattern | ExternalPattern =>
    slot < firstNew
      ? { code: 0, slot, guard: capture.layouts.get(slot) ?? null }
      : { code: 1, slot, guard: capture.guards.get(slot)! },
  );
  if (run.tuple !== bound && !bindsAll(implicit, bound, run.tuple)) return;
  const { spec } = resultTree;
  step.result = {
    leaves,
    rebuild: isTensor(result) ? (values) => values[0] : (values) => treeUnflatten(values, spec),
  };
  const jump: RegionJump = {
    guards,
    fetch: fetchPaths(paths as NonNullable<(typeof paths)[number]>[]),
    implicit,
    produced: [...produced.values()],
    grads,
    steps: [step, ...region.steps.filter((inner) => inner !== step)],
    exit: capture.branch,
  };
  step.jump = jump;
  run.remember(step, jump.produced);
}

/** Whether a jump binds every symbol that the body bound: those of the owner's tensors. */
function bindsAll(
  implicit: readonly (SlotPattern | ExternalPattern)[],
  before: SizeTuple,
  after: SizeTuple,
): boolean {
  const jumped = new Set(
    implicit.flatMap((pattern) =>
      pattern.code === 1
        ? [...pattern.guard.sizes, ...pattern.guard.strides].map((int) =>
            typeof int === 'number' ? -1 : int.bind,
          )
        : [],
    ),
  );
  for (let at = after; at !== before; at = at.parent!) if (!jumped.has(at.symbol)) return false;
  return true;
}
