/**
 * @file The loop variables of a matrix product as its expression code iterates over them.
 *
 * Lists of variables that are merged (`mergedSpace`) are walked in *runs*: stretches of the innermost variable with the
 * outer ones fixed, so that vectors go along one variable and no index needs a division.
 */
import type { SizedLoop } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import type { BodyEmitter } from '../body/body-emitter.js';
import { i32, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import { type ReadSize, decodeIndex, sum } from './index-code.js';

/** A stretch of the innermost variable, from `begin` to below `end`; `flat` is the flat index of `begin`. */
export interface Run {
  readonly inner: string;
  readonly begin: Local<'i32'>;
  readonly end: Local<'i32'>;
  readonly flat: Local<'i32'>;
}

/** Emits a loop over the runs of `vars` that make up the flat range [begin, end); binds the outer variables. */
export function forEachRun(
  body: BodyEmitter,
  vars: readonly SizedLoop[],
  begin: Local<'i32'>,
  end: Local<'i32'>,
  emit: (run: Run) => void,
): void {
  const { f, scope } = body;
  const inner = vars[vars.length - 1];
  const outer = vars.slice(0, -1);
  if (outer.length === 0) {
    emit({ inner: inner.name, begin, end, flat: begin });
    return;
  }
  const flat = f.let('flat', begin);
  const read = (size: Size): Code<'i32'> => body.size(size);
  const from = f.let('from', op('i32.rem_u', flat, read(inner.size)));
  const locals = decodeIndex(f, outer, op('i32.div_u', flat, read(inner.size)), read);
  const to = f.local('i32', 'to');
  scope.nest((inside) => {
    f.while(
      () => op('i32.lt_u', flat, end),
      () => {
        f.set(to, sum(from, op('i32.sub', end, flat)));
        f.if(op('i32.gt_u', to, read(inner.size)), () => f.set(to, read(inner.size)));
        inside(() => {
          for (const [name, local] of locals) scope.bind(name, local);
          emit({ inner: inner.name, begin: from, end: to, flat });
        });
        f.set(flat, sum(flat, op('i32.sub', to, from)));
        f.set(from, i32(0));
        carry(f, outer, locals, read);
      },
    );
  });
}

/** The end of the whole steps of a run. */
export function wholeSteps({ f }: BodyEmitter, run: Run, step: number): Local<'i32'> {
  const whole = op('i32.and', op('i32.sub', run.end, run.begin), i32(-step));
  return f.let('middle', sum(run.begin, whole));
}

/** Loops over a run by whole steps, and over what is left one by one. */
export function inSteps(
  body: BodyEmitter,
  run: Run,
  step: number,
  emit: (step: number) => void,
): void {
  const middle = step === 1 ? run.begin : wholeSteps(body, run, step);
  if (step > 1) body.scope.loop(run.inner, run.begin, middle, step, () => emit(step));
  body.scope.loop(run.inner, middle, run.end, 1, () => emit(1));
}

/** Advances a multi-digit counter by one. */
function carry(
  f: WasmFunction,
  vars: readonly SizedLoop[],
  locals: ReadonlyMap<string, Local<'i32'>>,
  read: ReadSize,
): void {
  const { name, size } = vars[vars.length - 1];
  const local = locals.get(name)!;
  f.set(local, sum(local, i32(1)));
  if (vars.length === 1) return;
  f.if(op('i32.eq', local, read(size)), () => {
    f.set(local, i32(0));
    carry(f, vars.slice(0, -1), locals, read);
  });
}

/** Binds the batch variables to the digits of a flat index. */
export function bindBatch(
  body: BodyEmitter,
  batch: readonly SizedLoop[],
  flat: Local<'i32'>,
): void {
  for (const [name, local] of decodeIndex(body.f, batch, flat, (size) => body.size(size)))
    body.scope.bind(name, local);
}
