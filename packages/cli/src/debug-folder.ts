/**
 * @file A folder that `TESSERA_DEBUG_DIR` named, with a folder for each compilation. It may come from anybody: files are
 * read on demand, and only ones that lie inside, links followed.
 */
import { readFileSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { ExplorationFile } from '@tessera/compile/exploration';
import { TesseraError } from '@tessera/shared';
import { readExploration } from './read-exploration.js';
import { readTrace } from './read-trace.js';

const FILE = 'exploration.json';

/** Bytes of a file that are read; the largest graphs make some tens of millions. */
const MOST_BYTES = 2 ** 28;

/** One compilation of a debug folder. */
export interface Compilation {
  /** Name of its folder. */
  readonly name: string;
  /** Reads its file now. @throws debug-folder-invalid */
  read(): ExplorationFile;
}

/** See the file header. */
export interface DebugFolder {
  readonly name: string;
  /** In the order of their names, which is that in which they were made; at least one. */
  readonly compilations: readonly Compilation[];
}

function invalid(message: string, cause?: unknown): TesseraError {
  return new TesseraError('debug-folder-invalid', message, {
    hints: ['Run the program with TESSERA_DEBUG_DIR=some/folder, and give that folder.'],
    ...(cause === undefined ? {} : { cause }),
  });
}

/** The text of a file of the folder `root`, which has no links in its path. */
function readInside(root: string, path: string): string {
  const shown = relative(root, path);
  try {
    const real = realpathSync(path);
    const inside = relative(root, real);
    if (inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside))
      throw invalid(`${shown} is a link that leads out of the folder.`);
    const stats = statSync(real);
    if (!stats.isFile()) throw invalid(`${shown} is not a file.`);
    if (stats.size > MOST_BYTES)
      throw invalid(`${shown} has ${stats.size} bytes; at most ${MOST_BYTES} are read.`);
    return readFileSync(real, 'utf8');
  } catch (error) {
    if (error instanceof TesseraError) throw error;
    throw invalid(`${shown} cannot be read: ${String(error)}`, error);
  }
}

/** Names of what lies in a folder, in order; none if it is not a folder that can be read. */
function namesIn(path: string): string[] {
  try {
    return readdirSync(path).sort();
  } catch {
    return [];
  }
}

/**
 * Opens what `TESSERA_DEBUG_DIR` wrote: the folder that it named, or that of one compilation. A file is a trace in
 * Chrome's format, such as `profile()` writes.
 *
 * @throws debug-folder-invalid if nothing there is a compilation
 */
export function openDebugFolder(path: string): DebugFolder {
  let root: string;
  try {
    root = realpathSync(resolve(path));
  } catch (error) {
    throw invalid(`There is no folder '${path}'.`, error);
  }
  if (statSync(root).isFile()) {
    const name = basename(root);
    const read = (): ExplorationFile => readTrace(readInside(dirname(root), root), name);
    // Refused here, and not in the page.
    read();
    return { name, compilations: [{ name, read }] };
  }
  const compilation = (name: string, folder: string): Compilation => ({
    name,
    read: () => readExploration(readInside(root, join(folder, FILE)), join(name, FILE)),
  });
  const names = namesIn(root);
  const compilations = names.includes(FILE)
    ? [compilation(basename(root), root)]
    : names
        .filter((name) => namesIn(join(root, name)).includes(FILE))
        .map((name) => compilation(name, join(root, name)));
  if (compilations.length === 0) throw invalid(`No folder in '${path}' has a file ${FILE}.`);
  return { name: basename(root), compilations };
}
