/** @file Cross-check of the emitter's two forms through wabt, an independent implementation. */
import { expect } from 'vitest';
import loadWabt from 'wabt';
import { assembleModule, type ModuleSpec } from '../src/emit/assemble-module.js';
import { printModule } from '../src/emit/print-module.js';

const wabt = await loadWabt();
const FEATURES = {
  threads: true,
  simd: true,
  bulk_memory: true,
  relaxed_simd: true,
  sat_float_to_int: true,
  sign_extension: true,
  mutable_globals: true,
};

/** Canonical listing of a binary. */
function disassemble(bytes: Uint8Array): string {
  const module = wabt.readWasm(bytes, { ...FEATURES, readDebugNames: false });
  try {
    return module.toText({ foldExprs: false, inlineExport: false });
  } finally {
    module.destroy();
  }
}

/** Asserts that wabt validates the text form and that both forms are the same module. */
export function expectTextEqualsBinary(spec: ModuleSpec): void {
  const bytes = assembleModule(spec);
  const parsed = wabt.parseWat('module.wat', printModule(spec), FEATURES);
  try {
    // Its declaration lacks the parameter.
    (parsed as unknown as { validate(features: object): void }).validate(FEATURES);
    expect(disassemble(bytes)).toBe(disassemble(parsed.toBinary({}).buffer));
  } finally {
    parsed.destroy();
  }
}
