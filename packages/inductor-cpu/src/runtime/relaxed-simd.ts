/**
 * @file Whether this engine has relaxed SIMD (fused multiply-add on vectors).
 */
import { assembleModule } from '../emit/assemble-module.js';
import { op } from '../emit/code.js';
import { WasmFunction } from '../emit/wasm-function.js';

let supported: boolean | null = null;

/** Asks the engine to validate a module that uses it. */
export function hasRelaxedSimd(): boolean {
  if (supported === null) {
    const f = new WasmFunction('probe', { a: 'v128', b: 'v128', c: 'v128' });
    f.do(
      op('f32x4.relaxed_madd', f.param<'v128'>('a'), f.param<'v128'>('b'), f.param<'v128'>('c')),
    );
    supported = WebAssembly.validate(
      assembleModule({ memory: { minPages: 0, maxPages: 1, shared: false }, functions: [f] }),
    );
  }
  return supported;
}
