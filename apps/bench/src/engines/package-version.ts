/**
 * @file Versions of installed packages, for the record.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Version of a package as this program would import it; `bundled` where it is part of this program. */
export function packageVersion(name: string): string {
  let folder: string;
  try {
    folder = dirname(fileURLToPath(import.meta.resolve(name)));
  } catch {
    return 'bundled';
  }
  for (;;) {
    const manifest = readManifest(join(folder, 'package.json'));
    if (manifest?.name === name && manifest.version !== undefined) return manifest.version;
    const parent = dirname(folder);
    if (parent === folder) return 'bundled';
    folder = parent;
  }
}

function readManifest(path: string): { name?: string; version?: string } | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as { name?: string; version?: string };
  } catch {
    return null;
  }
}
