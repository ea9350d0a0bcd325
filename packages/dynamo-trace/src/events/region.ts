/**
 * @file Event: a trusted region, code that a replay may jump over.
 *
 * The body runs and its ops are recorded as always; in addition the region notes what it read and what it made, so that a replay can check the owner once and jump over it. Any owner of the class will do whose
 * guards hold: equal modules share a trace. If a region read something that cannot be found on its owner again, set
 * a gradient or broke the graph, it is matched step by step.
 */
import { userFrame } from '@tessera/graph';
import { SymScalar, treeFlatten, treeLeaves, treeUnflatten } from '@tessera/shared';
import { isTensor } from '@tessera/tensor';
import { type RegionInputs, modes } from '@tessera/tensor/internal';
import { WATCHED } from '../breaks/graph-breaks.js';
import type { Cursor } from '../cursor/cursor.js';
import type { Recorder } from '../cursor/recorder.js';
import { tensorPattern } from '../cursor/arguments.js';
import { ShapeBinding } from '../dynamic/shape-binding.js';
import { OwnerGuards } from '../guards/owner-guards.js';
import {
  type Pattern,
  type TensorPattern,
  instantiate,
  integersOf,
  matchAll,
  unbindPatterns,
} from '../trace/pattern.js';
import {
  type OutSpec,
  type RegionJump,
  type RegionStep,
  observeStep,
  specOf,
} from '../trace/step.js';
import { type EventKind, MISS } from './event.js';

/** A region that is entered. */
interface RegionCall {
  readonly owner: object;
  readonly name: string;
  readonly inputs: RegionInputs;
  readonly fn: (inputs: RegionInputs) => unknown;
}

/** See the file header. */
export const REGION: EventKind<RegionCall, unknown> = {
  match(cursor, call) {
    const { steps } = cursor.at;
    for (let i = 0; i < steps.length; i++) {
      const step = steps[i]!;
      if (step.kind !== 'region' || !isFor(step, call)) continue;
      if (step.gradMode !== cursor.frame.gradMode) continue;
      if (step.jump === null) {
        if (matchAll(step.inputs, treeLeaves(call.inputs), cursor.frame))
          return enter(cursor, step, call);
        continue;
      }
      const produced = matchJump(step, step.jump, call, cursor);
      if (produced === null) continue;
      const result =
        produced instanceof ShapeBinding
          ? enterNewSizes(cursor, step, step.jump, produced, call)
          : jump(cursor, step.jump, produced);
      if (step.isWatched) cursor.flush(WATCHED);
      return result;
    }
    return MISS;
  },

  record(cursor, recorder, call) {
    cursor.owners.add(call.owner);
    return recordRegion(cursor, recorder, call);
  },

  run: ({ fn, inputs }) => fn(inputs),

  describe(call, at) {
    const { owner, name, inputs } = call;
    const step = at.steps.find(
      (other): other is RegionStep => other.kind === 'region' && isFor(other, call),
    );
    const what = `${owner.constructor.name}.${name}`;
    if (step === undefined)
      return { text: `the call went on with ${what} where the recorded call did not` };
    const text = step.jump?.guards.reason(owner) ?? null;
    return text === null
      ? { text: `other tensors were passed to ${what}`, about: [owner, ...treeLeaves(inputs)] }
      : { text, isExact: true };
  },
};

function isFor(
  { ownerClass, name }: RegionStep,
  call: Pick<RegionCall, 'owner' | 'name'>,
): boolean {
  return ownerClass === call.owner.constructor && name === call.name;
}

// ---- matching

/**
 * What the region leaves behind if its owner and inputs are as recorded, else null. A `ShapeBinding` says that
 * they are, with sizes not met before.
 */
function matchJump(
  step: RegionStep,
  { guards, implicit, produced, isStatic }: RegionJump,
  { owner, inputs }: RegionCall,
  { frame, specializer }: Cursor,
): readonly OutSpec[] | ShapeBinding | null {
  const { shapes } = frame;
  const found = guards.check(owner);
  if (found === null) return null;
  if (!matchAll(step.inputs, treeLeaves(inputs), frame)) return null;
  const withInputs = frame.shapes;
  if (!matchAll(implicit, found, frame)) {
    unbindPatterns(step.inputs, step.inputs.length, frame);
    frame.unbindSymbols(shapes);
    return null;
  }
  const symbolic = frame.shapes;
  if (symbolic.parent === null || isStatic) return produced;
  const known = specializer.known(step, null);
  if (known !== null) return known as readonly OutSpec[];
  // The body binds what it reads itself; its inputs stay bound.
  unbindPatterns(implicit, implicit.length, frame);
  frame.unbindSymbols(withInputs);
  return symbolic;
}

function jump(
  cursor: Cursor,
  { steps, exit, leaves, spec }: RegionJump,
  produced: readonly OutSpec[],
): unknown {
  const { frame, specializer } = cursor;
  specializer.follow(steps);
  const { slots } = frame;
  for (let i = 0; i < produced.length; i++) {
    const made = produced[i]!;
    if (slots[made.slot] === undefined || !specializer.rebuilding) frame.produce(made);
  }
  cursor.advance(steps, exit);
  if (modes.suspended !== null) frame.announce(steps);
  const values = leaves.map((leaf) => instantiate(leaf, frame));
  return treeUnflatten(values, spec);
}

/** A region that cannot be jumped over: its body runs and its ops are matched one by one. */
function enter(cursor: Cursor, step: RegionStep, { fn, inputs }: RegionCall): unknown {
  cursor.advance(step, step.next);
  cursor.specializer.follow(step);
  cursor.inRegion = true;
  try {
    return fn(inputs);
  } finally {
    cursor.inRegion = false;
  }
}

/** A region met with new sizes: its body runs once more, and what it makes is noted for these sizes. */
function enterNewSizes(
  cursor: Cursor,
  step: RegionStep,
  { exit, produced }: RegionJump,
  shapes: ShapeBinding,
  call: RegionCall,
): unknown {
  const { frame, specializer } = cursor;
  const before = specializer.behind;
  const result = enter(cursor, step, call);
  if (!cursor.matching || cursor.at !== exit) return result;
  const outs = produced.map(({ slot }) => specOf(frame.slots[slot]!, slot));
  specializer.note(step, null, { outs }, shapes, before);
  return result;
}

// ---- recording

/** What is noted while a region's body is recorded. */
export class RegionRecord {
  /** Slots read by ops of the region. */
  readonly uses: Set<number> = new Set();
  /** Slots made in the region. */
  readonly produced: Set<number> = new Set();
  /** A graph break happened inside, a gradient was set or a number of the body became a run-time scalar: a jump would not do it. */
  broken = false;
  /** The user's source line: one for all, as no code of the user runs inside. */
  readonly frame: string | undefined = userFrame();
  /** Indices of the run-time scalars that the region was given. */
  readonly scalars: Map<SymScalar, number> = new Map();
}

function recordRegion(
  cursor: Cursor,
  recorder: Recorder,
  { owner, name, inputs, fn }: RegionCall,
): unknown {
  const { frame, numbering, options } = recorder;
  const ownerName = `G['${owner.constructor.name}']`;
  const guards = new OwnerGuards(owner, ownerName);
  options.sources.addObject(owner);
  const { leaves, spec } = treeFlatten(inputs);
  const region = new RegionRecord();
  const older = recorder.alignment.enter((step) => isFor(step, { owner, name }));
  const firstNew = numbering.slots;
  const patterns: Pattern[] = [];
  const values = leaves.map((leaf, i) => {
    if (isTensor(leaf)) {
      const like = older?.inputs[i];
      patterns.push(
        tensorPattern(recorder, leaf, null, like && { pattern: like, calls: older!.calls }),
      );
      return leaf;
    }
    if (typeof leaf !== 'number') {
      patterns.push({ code: 2, value: leaf });
      return leaf;
    }
    const index = numbering.scalars++;
    const scalar = new SymScalar(leaf, 'float', `${ownerName}.${name} input ${i}`);
    frame.scalars[index] = leaf;
    region.scalars.set(scalar, index);
    patterns.push({ code: 4, index, kind: 'float' });
    return scalar;
  });
  const step: RegionStep = {
    kind: 'region',
    ownerClass: owner.constructor,
    name,
    gradMode: frame.gradMode,
    inputs: patterns,
    jump: null,
    calls: [recorder.shapes.call],
    isWatched: false,
    next: { steps: [] },
  };
  cursor.append(step);
  const from = cursor.path.length - 1;
  recorder.region = region;
  cursor.inRegion = true;
  const bound = frame.shapes;
  const before = cursor.specializer.behind;
  let result: unknown;
  try {
    result = fn(treeUnflatten(values, spec));
  } finally {
    recorder.region = null;
    cursor.inRegion = false;
  }
  if (!region.broken) {
    const implicit = implicitInputs(recorder, region, patterns, firstNew, guards);
    if (implicit !== null && bindsAll(implicit, bound, frame.shapes))
      step.jump = makeJump(cursor, from, region.produced, guards, implicit, result);
    if (step.jump !== null) {
      cursor.path.splice(from, Infinity, step.jump.steps);
      cursor.specializer.note(step, null, { outs: step.jump.produced }, frame.shapes, before);
    }
  }
  const given = step.jump === null ? region.produced : step.jump.produced.map(({ slot }) => slot);
  recorder.visible.push(...given);
  return result;
}

/** What the tensors of the owner must be that a region reads; null if one of them cannot be found on it. */
function implicitInputs(
  { frame, guards: external }: Recorder,
  { uses, produced }: RegionRecord,
  inputs: readonly Pattern[],
  firstNew: number,
  guards: OwnerGuards,
): RegionJump['implicit'] | null {
  const given = new Set(inputs.map((pattern) => ('slot' in pattern ? pattern.slot : -1)));
  const slots = [...uses].filter((slot) => !given.has(slot) && !produced.has(slot));
  const isFound = slots.every((slot) => guards.ask(frame.slots[slot]!) !== undefined);
  guards.seal();
  if (!isFound) return null;
  return slots.map((slot): TensorPattern =>
    slot < firstNew
      ? { code: 0, slot }
      : { code: 1, slot, guard: external.get(slot)!, gains: false },
  );
}

/** A jump over what is in the path from an index on; null if a replay could not tell what the region leaves behind. */
function makeJump(
  { frame, path, at: exit }: Cursor,
  from: number,
  made: ReadonlySet<number>,
  guards: OwnerGuards,
  implicit: RegionJump['implicit'],
  result: unknown,
): RegionJump | null {
  const { leaves, spec } = treeFlatten(result);
  const slots = leaves.filter(isTensor).map((tensor) => frame.slotOf(tensor));
  // A tensor that no op used: the jump could not find it.
  if (slots.includes(-1)) return null;
  const steps = path.slice(from).flat();
  return {
    guards,
    implicit,
    leaves: leaves.map((leaf): Pattern =>
      isTensor(leaf) ? { code: 0, slot: frame.slotOf(leaf) } : { code: 2, value: leaf },
    ),
    spec,
    produced: [...new Set(slots)]
      .filter((slot) => made.has(slot))
      .map((slot) => specOf(frame.slots[slot]!, slot)),
    steps,
    isStatic: steps.every((step) => step.kind !== 'op' || step.isStatic),
    exit,
  };
}

/** Whether a jump binds every symbol that the body bound: those of the owner's tensors. */
function bindsAll(
  implicit: readonly TensorPattern[],
  before: ShapeBinding,
  after: ShapeBinding,
): boolean {
  const jumped = new Set(
    implicit.flatMap((pattern) =>
      pattern.code === 1 ? integersOf(pattern).map(({ bind }) => bind) : [],
    ),
  );
  for (let at = after; at !== before; at = at.parent!) if (!jumped.has(at.symbol)) return false;
  return true;
}

/**
 * Records a matched region again: what it makes inside stays there. Inputs come in the order in which they came first, so
 * that graphs of all sizes are one program.
 */
export function rebuildRegion(recorder: Recorder, step: RegionStep): void {
  const { frame } = recorder;
  observeStep(step, recorder.shapes.call, frame);
  for (const pattern of step.inputs)
    if (pattern.code === 0 || pattern.code === 1)
      tensorPattern(recorder, frame.slots[pattern.slot]!, pattern);
  if (step.jump !== null) for (const { slot } of step.jump.produced) recorder.visible.push(slot);
}
