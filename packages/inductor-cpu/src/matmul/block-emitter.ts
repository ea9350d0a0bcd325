/**
 * @file Schedules with products in blocks, spelled. Each routine is a function, so that engines that compile a function
 * again when it was called often do so in the middle of a kernel.
 */
import type { Condition, Routine, ScheduledKernel, ScheduledStmt } from '@tessera/inductor-core';
import type { BodyEmitter } from '../body/body-emitter.js';
import type { KernelOptions } from '../body/size-slots.js';
import { call, i32, op } from '../emit/code.js';
import type { Code } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { ScheduledEmitter } from '../loops/emit-scheduled.js';
import { placeCode } from '../loops/place-code.js';
import type { WasmKernel } from '../wasm-kernel.js';
import { BlockProducts } from './block-products.js';
import { minimum } from './index-code.js';
import type { ProductKernel } from './problem.js';

/** Code of a schedule, whose statements the emitter spells. */
export function emitBlocks(
  scheduled: ScheduledKernel,
  options: KernelOptions,
  Emitter: typeof BlockEmitter = BlockEmitter,
): WasmKernel {
  const { kernel, routines = [] } = scheduled;
  const functions = new Map(
    routines.map((routine) => [routine.name, routineFunction(scheduled, routine, options)]),
  );
  const f = new WasmFunction(kernel.name, { args: 'i32', begin: 'i32', end: 'i32' });
  const code = new Emitter(f, scheduled, options, functions).items();
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

/** Statements on blocks, besides those of loops. */
export class BlockEmitter extends ScheduledEmitter {
  #products: BlockProducts | null = null;

  constructor(
    f: WasmFunction,
    scheduled: ScheduledKernel,
    options: KernelOptions,
    private readonly functions: ReadonlyMap<string, WasmFunction>,
  ) {
    super(f, scheduled.kernel, scheduled, options);
  }

  /** Items in runs as long as they may be. */
  protected override eachItem(body: BodyEmitter, all: () => void): void {
    const { name, runs } = this.scheduled.grid;
    if (runs === undefined) return super.eachItem(body, all);
    const { f, scope } = body;
    const [item, end] = [f.param('begin'), f.param('end')];
    const run = (): void => {
      scope.bind(name, item);
      const left = minimum(f, 'left', op('i32.sub', end, item), i32(runs.most));
      const behind = op('i32.rem_u', item, body.size(runs.within));
      const count = minimum(f, runs.name, op('i32.sub', body.size(runs.within), behind), left);
      scope.bind(runs.name, count);
      all();
      f.set(item, op('i32.add', item, count));
    };
    scope.nest((inside) =>
      f.while(
        () => op('i32.lt_u', item, end),
        () => inside(run),
      ),
    );
  }

  protected override other(stmt: ScheduledStmt, body: BodyEmitter): void {
    switch (stmt.kind) {
      case 'visit': {
        const at = stmt.at.map((index) => placeCode(body, index));
        return body.f.do(call(this.functions.get(stmt.routine)!, body.f.param('args'), ...at));
      }
      case 'when':
        return body.scope.nest((inside) =>
          body.f.if(holds(body, stmt.all[0]!), () => inside(() => this.body(stmt.body))),
        );
      case 'pack':
        return this.#blocks(body).pack(stmt);
      case 'product':
        return this.#blocks(body).multiply(stmt);
      default:
        super.other(stmt, body);
    }
  }

  #blocks(body: BodyEmitter): BlockProducts {
    const { kernel, products = [] } = this.scheduled;
    return (this.#products ??= new BlockProducts(
      body,
      kernel as ProductKernel,
      products,
      this.options,
    ));
  }
}

function holds(body: BodyEmitter, condition: Condition): Code<'i32'> {
  if (condition.kind !== 'first') throw new TypeError(`there is no code for '${condition.kind}'`);
  return op('i32.eqz', placeCode(body, condition.index));
}
