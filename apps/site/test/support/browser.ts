/**
 * @file The browser of the tests, or a visible word that there is none.
 */
import { env } from 'node:process';
import { type Browser, chromium } from 'playwright-core';
import { findChromium } from '../../../../tooling/find-chromium.mjs';

const executablePath = findChromium();

/** Whether tests that need a browser must be left out. */
export const withoutBrowser: boolean = executablePath === null;

if (withoutBrowser) {
  if (env.TESSERA_REQUIRE_WEBGPU === '1') throw new Error('no chromium: set CHROMIUM_PATH');
  console.warn('The browser tests of the site did not run: no chromium (CHROMIUM_PATH, PATH).');
}

/** Starts it. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: executablePath!, args: ['--no-sandbox'] });
}
