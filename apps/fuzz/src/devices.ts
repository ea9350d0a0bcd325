/**
 * @file Tensors of both devices in one program: which tensors are on WebGPU, and the statements that move them.
 *
 * Reading from WebGPU waits, so such a program is an async function. What WebGPU refuses is not drawn there.
 */
import { type Tensor } from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';
import type { Dice } from './dice.js';
import {
  type CallSpec,
  type Program,
  type Stmt,
  type TensorSpec,
  withEachTensor,
} from './program.js';

/** Devices that programs may use. */
export const DEVICES = ['cpu', 'wgpu'] as const;

/** One of `DEVICES`. */
export type FuzzDevice = (typeof DEVICES)[number];

/** A tensor on WebGPU, which has no 64-bit floats. */
function moved(spec: TensorSpec): TensorSpec {
  const dtype = spec.dtype === 'float64' ? 'float32' : spec.dtype;
  return { ...spec, dtype, device: 'wgpu' };
}

/** The program with half of its arguments and captured tensors on WebGPU, in all calls the same. */
export function withDevices(dice: Dice, program: Program): Program {
  const places = new Map<string, boolean>();
  const placed = (name: string, spec: TensorSpec): TensorSpec => {
    if (!places.has(name)) places.set(name, dice.chance(0.55));
    return places.get(name)! ? moved(spec) : spec;
  };
  const captured = Object.fromEntries(
    Object.entries(program.captured).map(([name, spec]) => [
      name,
      placed(`captured.${name}`, spec),
    ]),
  );
  const calls = program.calls.map((call): CallSpec => withEachTensor(call, placed));
  return { ...program, async: true, captured, calls };
}

/** A statement that moves a tensor. */
export function randomMove(dice: Dice, out: string, on: string): Stmt {
  return { do: 'op', out, on, name: 'to', args: [dice.chance(0.8) ? 'wgpu' : 'cpu'] };
}

/** Values, at once or when they have been read back. */
export function valuesOf(t: Tensor): Float64Array | PromiseLike<Float64Array> {
  // Looking at the storage first computes a pending value.
  void t.storage;
  if (t.device === 'cpu') return readNumbers(t);
  return (t.toTypedArray() as unknown as PromiseLike<ArrayLike<number | bigint>>).then((values) =>
    Float64Array.from(values, Number),
  );
}
