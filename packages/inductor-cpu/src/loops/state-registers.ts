/**
 * @file Registers that hold the state of a reduction while its loops run.
 */
import type { Regs, VectorBuilder } from '../body/vector-builder.js';
import type { Local } from '../emit/types.js';

/** Mutable registers of a reducer. */
export function stateRegs(vb: VectorBuilder, count: number, name: string): Local<'v128'>[] {
  return Array.from({ length: count }, () => vb.f.local('v128', name));
}

/** Sets every state register to a value with one register or as many. */
export function assign(vb: VectorBuilder, state: readonly Local<'v128'>[], value: Regs): void {
  state.forEach((local, i) => vb.f.set(local, value[i % value.length]));
}
