/**
 * @file Hosts that forbid WebAssembly code. Pages with such a policy are tried by `pnpm check:consumers`.
 */
import { afterEach, expect, it, vi } from 'vitest';
import { makeModule } from '../src/runtime/make-module.js';

afterEach(() => void vi.unstubAllGlobals());

const EMPTY = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

it('lets errors of the module itself pass', () => {
  expect(() => makeModule(Uint8Array.of(1, 2, 3))).toThrow(WebAssembly.CompileError);
  expect(makeModule(EMPTY)).toBeInstanceOf(WebAssembly.Module);
});

// The last one: what a host refuses is remembered.
it('is an error that names the directive, after asking the host no more than once', () => {
  let asked = 0;
  const Module = class {
    constructor() {
      asked++;
      throw new WebAssembly.CompileError('Wasm code generation disallowed by embedder');
    }
  };
  const { CompileError } = WebAssembly;
  vi.stubGlobal('WebAssembly', { Module, CompileError });
  const refused = expect.objectContaining({
    code: 'webassembly-forbidden',
    message: expect.stringMatching(/disallowed by embedder[^]*'wasm-unsafe-eval'[^]*cpu\.kernels/),
  }) as unknown;
  expect(() => makeModule(EMPTY)).toThrow(refused);
  // The module that was wanted, and the smallest one.
  expect(asked).toBe(2);
  expect(() => makeModule(EMPTY)).toThrow(refused);
  expect(asked).toBe(2);
});
