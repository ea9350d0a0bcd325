/**
 * @file Warming up the code that matches, after the first long trace is recorded.
 *
 * An engine interprets code that it has not seen often, ten to twenty times slower than what it makes of it later. The
 * first replays of a program's first compiled model would pay for that, so a small trace is replayed here until
 * matching is hot, or the time is over: once in a process, in a call that compiles anyway. The engine optimises on
 * another thread while that goes on. Nothing is computed: the tensors are fake.
 *
 * Short traces do without: their cold replays cost less than warming up would add to the first call.
 *
 * The trace has the kinds of step, argument and owner that models have; code that is optimised for fewer would be
 * given up at the first real call.
 */
import type { Steps } from '@tessera/shared';
import {
  type Tensor,
  add,
  linear,
  mul,
  relu,
  track,
  transpose,
  view,
  zeros,
} from '@tessera/tensor';
import {
  isUnobserved,
  trustedRegion,
  withFakeTensors,
  withPreDispatchMode,
} from '@tessera/tensor/internal';
import { now } from '../clock.js';
import { DynamicShapes } from '../dynamic/dynamic-shapes.js';
import { SymbolTable } from '../dynamic/symbol-table.js';
import { Frame } from '../frame/frame.js';
import { Sources } from '../guards/sources.js';
import type { TrieNode } from '../trace/step.js';
import { Cursor } from './cursor.js';
import { Recorder } from './recorder.js';
import { Specializer } from './specializer.js';

/** Milliseconds that warming up may take. */
const MOST_MS = 20;
/** Replays of the trace, each of some fifty events: engines optimise what ran some thousand times. */
const REPLAYS = 120;
/** Layers of the trace. */
const LAYERS = 10;
/** Steps from which on a trace is long. Twenty cold replays of a shorter one cost a few milliseconds more than warm ones. */
const LONG = 50;

let isWarm = false;

/**
 * See the file header, with a pause after each replay. Does nothing the second time, and where modes would see it.
 *
 * @param steps of the trace that was recorded
 */
export function* warmUp(steps: number): Steps<void> {
  if (isWarm || steps < LONG || !isUnobserved()) return;
  isWarm = true;
  const layers = withFakeTensors(() => Array.from({ length: LAYERS }, (_, i) => layerLike(i)));
  const x = withFakeTensors(() => zeros([2, 4]));
  const table = new SymbolTable();
  const start: TrieNode = { steps: [] };
  const call = (): void => {
    const cursor = cursorAt(start, table);
    cursor.frame.begin();
    try {
      withPreDispatchMode(cursor, () => forward(layers, x));
    } finally {
      cursor.frame.end();
    }
  };
  call();
  yield;
  const end = now() + MOST_MS;
  for (let i = 0; i < REPLAYS && now() < end && isUnobserved(); i++) {
    call();
    yield;
  }
}

/** Like a linear layer; attributes differ, as those of modules of several classes do. */
interface LayerLike {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
}

function layerLike(i: number): LayerLike {
  const attributes = Object.fromEntries(
    Array.from({ length: 1 + (i % 5) }, (_, k) => [`attribute${k}`, k] as const),
  );
  const weight = zeros([4, 4]);
  return track({ training: true, ...attributes, weight, bias: i % 2 === 0 ? zeros([4]) : null });
}

function forward(layers: readonly LayerLike[], x: Tensor): Tensor {
  let y = x;
  for (const layer of layers) {
    const z = trustedRegion(layer, 'forward', { args: [y] }, ({ args }) =>
      relu(linear(args[0]!, layer.weight, layer.bias)),
    );
    y = add(transpose(view(mul(z, 2), [2, 2, 2]), 0, 1).reshape([2, 4]), y);
  }
  return y;
}

/** A cursor that records the first time, and matches what was recorded from then on. */
function cursorAt(start: TrieNode, table: SymbolTable): Cursor {
  const frame = new Frame(table.bindings.root);
  const newRecorder = (): Recorder =>
    new Recorder(
      frame,
      { slots: 0, scalars: 0 },
      {
        backend: () => () => [],
        fullgraph: false,
        functionName: 'warmUp',
        recordOnly: true,
        sources: new Sources([]),
      },
      new DynamicShapes(table, frame, 0, false),
    );
  const specializer = new Specializer(frame, table, newRecorder, () => 1, 'warmUp');
  const host = {
    diverge: () => null,
    onBreakBetween: () => undefined,
    runMatched: () => undefined,
  };
  const recorder = start.steps.length === 0 ? newRecorder() : null;
  return new Cursor(frame, start, recorder, specializer, host);
}
