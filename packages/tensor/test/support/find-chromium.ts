/**
 * @file Where the browser of the tests is.
 */
import { accessSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { env } from 'node:process';

/** CHROMIUM_PATH, or the first chromium on PATH. */
export function findChromium(): string | null {
  if (env.CHROMIUM_PATH !== undefined && env.CHROMIUM_PATH !== '') return env.CHROMIUM_PATH;
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const path of folders.flatMap((folder) => names.map((name) => join(folder, name)))) {
    try {
      accessSync(path);
      return path;
    } catch {
      continue;
    }
  }
  return null;
}
