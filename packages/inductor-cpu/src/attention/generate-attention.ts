/**
 * @file Attention and its gradients: their schedule in blocks, spelled. Each routine is a function.
 */
import {
  type AttentionKernel,
  type Routine,
  type ScheduledKernel,
  type ScheduledStmt,
  scheduleAttentionBlocks,
} from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import type { BodyEmitter } from '../body/body-emitter.js';
import { type KernelOptions, kernelOptions } from '../body/size-slots.js';
import type { CodeOptions } from '../body/vector-builder.js';
import { call } from '../emit/code.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { CPU_TARGET } from '../loops/cpu-target.js';
import { ScheduledEmitter } from '../loops/emit-scheduled.js';
import { placeCode } from '../loops/place-code.js';
import type { WasmKernel } from '../wasm-kernel.js';
import { BlockProducts } from './block-products.js';

/** Code of an attention kernel. @throws kernel-missing for what there are no blocks for */
export function generateAttention(kernel: AttentionKernel<Size>, options: CodeOptions): WasmKernel {
  const own = kernelOptions(kernel, options);
  const scheduled = scheduleAttentionBlocks(kernel, CPU_TARGET);
  const functions = new Map(
    scheduled.routines!.map((routine) => [routine.name, routineFunction(scheduled, routine, own)]),
  );
  const f = new WasmFunction(kernel.name, { args: 'i32', begin: 'i32', end: 'i32' });
  const code = new BlockEmitter(f, scheduled, own, functions).items();
  return { ...code, schedule: () => scheduled };
}

function routineFunction(
  scheduled: ScheduledKernel,
  { name, parameters, body }: Routine,
  options: KernelOptions,
): WasmFunction {
  const { kernel } = scheduled;
  const f = new WasmFunction(`${kernel.name}_${name}`, {
    args: 'i32',
    ...Object.fromEntries(parameters.map((parameter) => [parameter, 'i32' as const])),
  });
  new ScheduledEmitter(f, kernel, { ...scheduled, body }, options).emit(({ scope }, all) => {
    for (const parameter of parameters) scope.bind(parameter, f.param(parameter));
    all();
  });
  return f;
}

class BlockEmitter extends ScheduledEmitter {
  #products: BlockProducts | null = null;

  constructor(
    f: WasmFunction,
    scheduled: ScheduledKernel,
    options: KernelOptions,
    private readonly functions: ReadonlyMap<string, WasmFunction>,
  ) {
    super(f, scheduled.kernel, scheduled, options);
  }

  protected override other(stmt: ScheduledStmt, body: BodyEmitter): void {
    this.#products ??= new BlockProducts(body, this.scheduled, this.options);
    switch (stmt.kind) {
      case 'visit': {
        const at = stmt.at.map((index) => placeCode(body, index));
        return body.f.do(call(this.functions.get(stmt.routine)!, body.f.param('args'), ...at));
      }
      case 'pack':
        return this.#products.pack(stmt);
      case 'product':
        return this.#products.multiply(stmt);
      default:
        super.other(stmt, body);
    }
  }
}
