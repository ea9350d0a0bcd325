/**
 * @file `LibraryScope`: memory that library code makes for itself and releases when it is done.
 *
 * While a scope is open, everything that allocates is library code: a backward pass, an optimizer's update.
 * What it makes is released when the scope closes, except what the program was shown (`show`) and what
 * somebody took over (`adopt`: a leaf its gradient). Wherever such code calls the program, or anything that
 * makes memory for others, the scope is off meanwhile (`outsideScopes`): hooks, custom functions and kernels,
 * lazy tensors. So no scope ever releases memory that the program can reach. See docs/adr/0022.
 */
import { modes } from '../dispatch/modes.js';
import type { Storage } from './storage.js';

/** Memory made by one piece of library code. */
export class LibraryScope {
  private readonly made: Storage[] = [];

  /** Takes memory in, to be released with what was made in the scope. */
  add(storage: Storage): void {
    storage.scope = this;
    this.made.push(storage);
  }

  /** Releases what is left. */
  close(): void {
    for (const storage of this.made) if (storage.scope === this && !storage.shown) storage.free();
    this.made.length = 0;
  }
}

/** `open`: takes what is allocated now. `backward`: of the outermost backward pass, also while code of the program runs. */
export const libraryScopes: { open: LibraryScope | null; backward: LibraryScope | null } = {
  open: null,
  backward: null,
};

/** Whether tensors are seen by nobody but the operators that they are passed to. */
export function isUnobserved(): boolean {
  return modes.pre === null && modes.suspended === null && modes.stack.length === 0;
}

/** Runs code with another scope open, or with none. */
export function withScope<R>(scope: LibraryScope | null, fn: () => R): R {
  const outer = libraryScopes.open;
  libraryScopes.open = scope;
  try {
    return fn();
  } finally {
    libraryScopes.open = outer;
  }
}

/** Runs code of the program, or code that makes memory for others. */
export function outsideScopes<R>(fn: () => R): R {
  return libraryScopes.open === null ? fn() : withScope(null, fn);
}

/**
 * Runs library code that keeps nothing of what it allocates, and releases that at once; where somebody may watch
 * its operators, everything is left to the collector.
 */
export function inLibraryScope(fn: () => void): void {
  if (libraryScopes.open !== null || !isUnobserved()) {
    fn();
    return;
  }
  const scope = new LibraryScope();
  withScope(scope, fn);
  scope.close();
}

/** The library keeps this memory beyond the open scope; returns whether it was made in that scope, for nobody else. */
export function adopt(storage: Storage): boolean {
  const isOurs = storage.scope !== null && storage.scope === libraryScopes.open && !storage.shown;
  storage.scope = null;
  return isOurs;
}
