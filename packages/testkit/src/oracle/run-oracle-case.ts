/**
 * @file Running one oracle case in one mode: eager, gradients, FakeTensors, or compiled alone.
 */
import { compile } from '@tessera/compile';
import {
  type DeviceType,
  type OpOverload,
  type Tensor,
  callOp,
  download,
  isTensor,
  noGrad,
} from '@tessera/tensor';
import { runBackward } from '@tessera/tensor/internal';
import { OracleComparison } from './compare-outputs.js';
import { type CaseDeviation, fusedDeviation } from './deviations.js';
import {
  type MakeTensor,
  fakeOracleTensor,
  isDataDependent,
  oracleArguments,
  oracleTensor,
  oracleTensorOn,
} from './oracle-arguments.js';
import type { OracleCase, OracleFile } from './oracle-file.js';
import { resultsIn, tensorIn } from './tensor-in.js';

/** What is compared: see `runOracleCase`. */
export type OracleMode = 'eager' | 'grad' | 'fake' | 'compiled-cpu' | 'compiled-wgpu';

/** All modes. */
export const ORACLE_MODES: readonly OracleMode[] = [
  'eager',
  'grad',
  'fake',
  'compiled-cpu',
  'compiled-wgpu',
];

/** Whether a mode has anything to check in a case. */
export function appliesTo(
  mode: OracleMode,
  op: OpOverload | undefined,
  entry: OracleCase,
): boolean {
  if (mode === 'grad') return entry.grad_in !== undefined;
  return mode !== 'fake' || op === undefined || !isDataDependent(op, entry);
}

/**
 * Runs a case and returns what differs from PyTorch, one line each.
 *
 * - `eager`: values, shapes, strides, dtypes of the results, and what an in-place op left in its arguments.
 * - `grad`: gradients for the recorded cotangents.
 * - `fake`: shapes, strides, dtypes by the meta rule alone.
 * - `compiled-*`: the call compiled by itself for a device, with its gradients if it has any.
 *
 * @throws TesseraError what the call itself throws
 */
export async function runOracleCase(
  file: OracleFile,
  op: OpOverload,
  entry: OracleCase,
  mode: OracleMode,
  deviation?: CaseDeviation,
): Promise<string[]> {
  const random = deviation?.random === true || deviation?.randomIf?.(entry.args) === true;
  const known = mode.startsWith('compiled') ? fusedDeviation(entry.op, deviation) : deviation;
  const comparison = new OracleComparison(
    file,
    known === undefined ? undefined : { ...known, random },
  );
  const make: MakeTensor = (reference) => oracleTensor(file, reference);
  const onGpu: MakeTensor = (reference) => oracleTensorOn(file, reference, 'wgpu');
  switch (mode) {
    case 'eager':
      await checkForward(comparison, op, entry, make, (args) => callOp(op, args));
      break;
    case 'grad':
      await checkGradients(comparison, op, entry, make, (args) => callOp(op, args));
      break;
    case 'fake': {
      const args = oracleArguments(op, entry, fakeOracleTensor);
      const outs = outputsOf(
        entry,
        noGrad(() => callOp(op, args)),
      );
      entry.out.forEach((expected, i) => comparison.layout(`out ${i}`, outs[i], expected));
      break;
    }
    case 'compiled-cpu':
    case 'compiled-wgpu': {
      const place = mode === 'compiled-cpu' ? make : onGpu;
      const compiled = compile((args: unknown[]) => callOp(op, args));
      const device = mode === 'compiled-wgpu' ? 'wgpu' : undefined;
      await checkForward(comparison, op, entry, place, compiled, device);
      if (entry.grad_in !== undefined)
        await checkGradients(comparison, op, entry, place, compiled, device);
    }
  }
  return comparison.differences;
}

type Call = (args: unknown[]) => unknown;

/** A CPU copy of whatever tensors a result holds, layouts kept. */
async function tensorOnCpu(tensor: Tensor): Promise<Tensor> {
  return tensor.device === 'cpu' ? tensor : download(tensor);
}

async function onCpu(value: unknown): Promise<unknown> {
  if (isTensor(value)) return tensorOnCpu(value);
  return Array.isArray(value) ? Promise.all(value.map(onCpu)) : value;
}

function asList(result: unknown): readonly unknown[] {
  return isTensor(result) || !Array.isArray(result) ? [result] : result;
}

/** Results the way the oracle lists them. */
function outputsOf(entry: OracleCase, result: unknown): readonly unknown[] {
  const list = asList(result);
  return entry.out.length === 1 && Array.isArray(entry.out[0]) ? [list] : list;
}

async function checkForward(
  comparison: OracleComparison,
  op: OpOverload,
  entry: OracleCase,
  make: MakeTensor,
  call: Call,
  device?: DeviceType,
): Promise<void> {
  const args = oracleArguments(op, entry, make, device);
  const outs = outputsOf(
    entry,
    noGrad(() => call(args)),
  );
  for (const [i, expected] of entry.out.entries())
    comparison.values(`out ${i}`, await onCpu(outs[i]), expected, i);
  for (const [name, expected] of Object.entries(entry.args_after ?? {})) {
    const after = args[op.argIndex.get(name)!];
    comparison.values(`${name} after`, await onCpu(after), expected, 0);
  }
}

async function checkGradients(
  comparison: OracleComparison,
  op: OpOverload,
  entry: OracleCase,
  make: MakeTensor,
  call: Call,
  device?: DeviceType,
): Promise<void> {
  const args = oracleArguments(op, entry, make, device);
  const inputs = entry.grad_in!.map(({ arg, index }) =>
    tensorIn(args[op.argIndex.get(arg)!], index),
  );
  for (const input of inputs) input.requiresGrad_();
  // A list result counts as one output per element in grad_out.
  const outs = resultsIn(call(args));
  const roots: Tensor[] = [];
  const seeds: Tensor[] = [];
  entry.grad_out!.flat().forEach((seed, i) => {
    const out = outs[i];
    if (seed === null || out?.requiresGrad !== true) return;
    roots.push(out);
    seeds.push(make(seed));
  });
  const grads =
    roots.length === 0
      ? inputs.map(() => null)
      : runBackward(roots, seeds, {
          retainGraph: false,
          createGraph: false,
          inputs,
          accumulate: false,
          allowUnused: true,
        });
  for (const [i, { arg, index, grad }] of entry.grad_in!.entries()) {
    const name = `gradient of ${arg}${index === null ? '' : `[${index}]`}`;
    const actual = grads[i] ?? null;
    if (grad === null) continue;
    if (actual === null) comparison.differences.push(`${name} is missing`);
    else comparison.gradient(name, await tensorOnCpu(actual), grad, arg);
  }
}
