/**
 * @file Making WebAssembly modules, which a content security policy may forbid.
 */
import { type Steps, TesseraError } from '@tessera/shared';

/** The smallest module: magic number and version. */
const EMPTY = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

/** The error that the host gave for the empty module; null while none has been refused. */
let refusal: unknown = null;

/**
 * Makes a module. Where the host forbids it that is found out once: browsers report every attempt.
 *
 * @throws webassembly-forbidden
 */
export function makeModule(bytes: Uint8Array<ArrayBuffer>): WebAssembly.Module {
  if (refusal !== null) throw forbidden();
  try {
    return new WebAssembly.Module(bytes);
  } catch (error) {
    if (!forbidsModules()) throw error;
    throw forbidden();
  }
}

/** `makeModule` with a pause in which the host compiles. @throws webassembly-forbidden */
export function* moduleSteps(bytes: Uint8Array<ArrayBuffer>): Steps<WebAssembly.Module> {
  let module: WebAssembly.Module | null = null;
  yield async () => {
    // What the host refuses is asked for again below, which says why.
    module = await WebAssembly.compile(bytes).catch(() => null);
  };
  return module ?? makeModule(bytes);
}

function forbidsModules(): boolean {
  try {
    void new WebAssembly.Module(EMPTY);
    return false;
  } catch (error) {
    refusal = error;
    return true;
  }
}

function forbidden(): TesseraError {
  return new TesseraError(
    'webassembly-forbidden',
    `The host forbids WebAssembly code: ${String(refusal)}`,
    {
      hints: [
        "Add 'wasm-unsafe-eval' to script-src of the page's Content-Security-Policy.",
        "Or compute slowly, without: config.set({ 'cpu.kernels': 'reference' }).",
      ],
      cause: refusal,
    },
  );
}
