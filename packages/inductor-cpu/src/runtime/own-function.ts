/**
 * @file Functions outside of plans: an operator's own code, in a module for each.
 */
import { cpuHeap } from '@tessera/tensor';
import { assembleModule } from '../emit/assemble-module.js';
import type { ResultType } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import { makeModule } from './make-module.js';

/** Pages of 64 KiB that a 32-bit memory can have. */
const MAX_PAGES = 65536;

/** A function of addresses and numbers. */
export type OwnFunction = (...args: readonly number[]) => number;

const loaded = new Map<string, OwnFunction>();

/** The function of a name, made when it is first asked for. @throws webassembly-forbidden */
export function ownFunction(name: string, make: () => WasmFunction<ResultType>): OwnFunction {
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const { memory, shared } = cpuHeap();
  const f = make();
  const bytes = assembleModule({
    memory: { minPages: 1, maxPages: MAX_PAGES, shared },
    functions: [f],
  });
  const { exports } = new WebAssembly.Instance(makeModule(bytes), { env: { memory } });
  const run = exports[f.name] as OwnFunction;
  loaded.set(name, run);
  return run;
}
