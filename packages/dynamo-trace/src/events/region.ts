/**
 * @file Event: a trusted region, code that a replay may jump over.
 *
 * The body runs and its ops are recorded as always; in addition the region notes what it read and what it made, so
 * that a replay can compare the inputs once and jump over it. Owners of one class with equal inputs share a trace. If a
 * region read a tensor that is no input of it, set a gradient or broke the graph, it is matched step by step.
 */
import {
  SymScalar,
  treeFlatten,
  treeLeaves,
  treePaths,
  treeUnflatten,
  userFrame,
} from '@tessera/shared';
import { isTensor } from '@tessera/tensor';
import { type RegionInputs, modes } from '@tessera/tensor/internal';
import type { Cursor } from '../cursor/cursor.js';
import type { Recorder } from '../cursor/recorder.js';
import { boundPattern } from '../cursor/arguments.js';
import { literal } from '../guards/guard-words.js';
import {
  type ConstPattern,
  type Pattern,
  instantiate,
  matchAll,
  sameConstant,
  slotsOf,
} from '../trace/pattern.js';
import {
  type OutSpec,
  type RegionJump,
  type RegionStep,
  newNode,
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
    const { frame } = cursor;
    const leaves = leavesOf(call.inputs);
    for (const step of cursor.at.steps) {
      if (step.kind !== 'region' || !isFor(step, call)) continue;
      if (step.gradMode !== frame.gradMode || !matchAll(step.inputs, leaves, frame)) continue;
      if (step.jump === null) return enter(cursor, step, call);
      const produced = knownResults(cursor, step, step.jump);
      return produced === null
        ? enterNewSizes(cursor, step, step.jump, call)
        : jump(cursor, step.jump, produced);
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
    const { reads = [], ...others } = inputs;
    const leaves = leavesOf(inputs);
    const i = step.inputs.findIndex(
      (pattern, k) => pattern.code === 2 && !sameConstant(pattern.value, leaves[k]),
    );
    // Where there are more or fewer tensors, places say nothing.
    if (i < 0 || step.inputs.length !== leaves.length)
      return { text: `other tensors were passed to ${what}`, about: [owner, ...leaves] };
    const { value } = step.inputs[i] as ConstPattern;
    const path = treePaths(treeFlatten(others).spec)[i - reads.length];
    return { text: `${nameOf(owner)}${path} == ${literal(value)}`, isExact: true };
  },
};

/** An owner as reports name it. */
function nameOf(owner: object): string {
  return `G['${owner.constructor.name}']`;
}

/** What is compared: the tensors that the region has anyhow, and the leaves of its other inputs. */
function leavesOf({ reads = [], ...inputs }: RegionInputs): unknown[] {
  return [...reads, ...treeLeaves(inputs)];
}

function isFor(
  { ownerClass, name }: RegionStep,
  call: Pick<RegionCall, 'owner' | 'name'>,
): boolean {
  return ownerClass === call.owner.constructor && name === call.name;
}

// ---- matching

/** What a region leaves behind whose inputs are as recorded; null at sizes that were not met before. */
function knownResults(
  { frame, specializer }: Cursor,
  step: RegionStep,
  { produced, isStatic }: RegionJump,
): readonly OutSpec[] | null {
  if (frame.shapes.parent === null || isStatic) return produced;
  return specializer.known(step, null) as readonly OutSpec[] | null;
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
  call: RegionCall,
): unknown {
  const { frame, specializer } = cursor;
  const { shapes } = frame;
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
  const ownerName = nameOf(owner);
  options.sources.addObject(owner);
  const { reads = [], ...others } = inputs;
  const { leaves, spec } = treeFlatten(others);
  const region = new RegionRecord();
  const older = recorder.alignment.enter((step) => isFor(step, { owner, name }));
  const patterns: Pattern[] = [];
  const values = [...reads, ...leaves].map((leaf, i) => {
    if (isTensor(leaf)) {
      const like = older?.inputs[i];
      patterns.push(
        boundPattern(recorder, leaf, null, like && { pattern: like, calls: older!.calls }),
      );
      return leaf;
    }
    if (typeof leaf !== 'number') {
      patterns.push({ code: 2, value: leaf });
      return leaf;
    }
    const index = numbering.scalars++;
    const scalar = new SymScalar(leaf, 'float', `${ownerName}.${name} input ${i - reads.length}`);
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
    next: newNode(),
  };
  cursor.append(step);
  const from = cursor.path.length - 1;
  recorder.region = region;
  cursor.inRegion = true;
  const bound = frame.shapes;
  const before = cursor.specializer.behind;
  let result: unknown;
  try {
    result = fn(treeUnflatten(values.slice(reads.length), spec));
  } finally {
    recorder.region = null;
    cursor.inRegion = false;
  }
  // A jump binds the symbols of the inputs and no others.
  if (!region.broken && frame.shapes === bound && readsOnly(patterns, region))
    step.jump = makeJump(cursor, from, region.produced, result);
  if (step.jump !== null) {
    cursor.path.splice(from, Infinity, step.jump.steps);
    cursor.specializer.note(step, null, { outs: step.jump.produced }, bound, before);
  }
  const given = step.jump === null ? region.produced : step.jump.produced.map(({ slot }) => slot);
  recorder.visible.push(...given);
  return result;
}

/** Whether a region read nothing but its inputs and what it made itself. */
function readsOnly(inputs: readonly Pattern[], { uses, produced }: RegionRecord): boolean {
  const given = new Set(inputs.flatMap(slotsOf));
  return [...uses].every((slot) => given.has(slot) || produced.has(slot));
}

/** A jump over what is in the path from an index on; null if a replay could not tell what the region leaves behind. */
function makeJump(
  { frame, path, at: exit }: Cursor,
  from: number,
  made: ReadonlySet<number>,
  result: unknown,
): RegionJump | null {
  const { leaves, spec } = treeFlatten(result);
  const slots = leaves.filter(isTensor).map((tensor) => frame.slotOf(tensor));
  // A tensor that no op used: the jump could not find it.
  if (slots.includes(-1)) return null;
  const steps = path.slice(from).flat();
  return {
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

/** Records a matched region again: what it makes inside stays there. */
export function rebuildRegion(recorder: Recorder, step: RegionStep): void {
  const { frame } = recorder;
  observeStep(step, recorder.shapes.call, frame);
  for (const pattern of step.inputs)
    if (pattern.code === 0 || pattern.code === 1)
      boundPattern(recorder, frame.slots[pattern.slot]!, pattern);
  if (step.jump !== null) for (const { slot } of step.jump.produced) recorder.visible.push(slot);
}
