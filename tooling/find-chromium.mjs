/**
 * @file Where the browser of tests and checks is.
 */
import { accessSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { env } from 'node:process';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/**
 * CHROMIUM_PATH, or the first chromium on PATH; null where there is none.
 * @returns {string | null}
 */
export function findChromium() {
  if (env.CHROMIUM_PATH !== undefined && env.CHROMIUM_PATH !== '') return env.CHROMIUM_PATH;
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const path of folders.flatMap((folder) => NAMES.map((name) => join(folder, name)))) {
    try {
      accessSync(path);
      return path;
    } catch {
      continue;
    }
  }
  return null;
}
